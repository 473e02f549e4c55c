/* SPDX-License-Identifier: MIT
 *
 * place.h - the agent's file: which one an app needs, pushed and copied into the app's folder.
 */
#ifndef ATTACH_ADB_PLACE_H
#define ATTACH_ADB_PLACE_H

#include "base/base.h"

struct adb_app;
struct adb_request;

/* The agent's file here for app's machine; app->file is its name there. -1 and *err. */
int adb_app_agent(struct adb_app *app, const struct adb_request *q, char *agent, size_t size,
		  struct err *err);
/* Pushes and copies it. path: of the copy, as the app sees it. */
int adb_app_place(struct adb_app *app, const struct adb_request *q, char *path, size_t size,
		  struct err *err);
struct adb_copy {
	const char *from;   /* a command of the device, which prints it */
	const char *ending; /* of the file in the app's folder */
	size_t bytes;       /* so many */
};
/* path: of the copy, as the app sees it. */
int adb_app_write(struct adb_app *app, const struct adb_copy *c, char *path, size_t size,
		  struct err *err);

#endif
