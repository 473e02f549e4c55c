/* SPDX-License-Identifier: MIT
 *
 * device.h - the devices, and the processes on one. app.h includes it.
 */
#ifndef ATTACH_ADB_DEVICE_H
#define ATTACH_ADB_DEVICE_H

#include "attach/adb/adb.h"

struct adb_phone {
	char abi[32];     /* of most apps: "arm64-v8a" */
	char release[32]; /* of Android: "14"; clean */
	int sdk;          /* its API level, 0 = unknown */
	bool root;        /* adb's shell is */
};

struct adb_process {
	int pid;
	char name[128]; /* the app chose it: any text, not sanitized */
};

struct adb_app;

/* Sets a->serial to the only usable device, unless one is named. -1 and *err: there is none, or
 * several. */
int adb_choose(struct adb *a, struct err *err);
int adb_phone(const struct adb *a, struct adb_phone *p, struct err *err);
/* The processes that accept a debugger, by pid, in an array that the caller frees. */
int adb_processes(const struct adb *a, struct adb_process **list, size_t *count, struct err *err);
/* Is it an app's name that is safe in a device's shell? */
bool adb_is_package(const char *name, size_t len);
/* Sets app->pid and names from a package, a process name (package:part) or a pid. -1 and *err
 * with the reason. */
int adb_app_find(struct adb_app *app, const char *word, struct err *err);
void adb_app_name(struct adb_app *app, const struct adb_process *p);

#endif
