/* SPDX-License-Identifier: MIT
 *
 * root.h - the agent into a process that runs, by ptrace as root.
 */
#ifndef ATTACH_ADB_ROOT_H
#define ATTACH_ADB_ROOT_H

#include "base/base.h"

struct adb_app;
struct adb_request;

/* 1: root is available, app->root says how; 0: it is not; -1 and *err: the device does not
 * answer. */
int adb_root(struct adb_app *app, struct err *err);
/* As adb_app_attach(), which calls it; also for native programs. */
int adb_root_attach(struct adb_app *app, const struct adb_request *q, struct err *err);

#endif
