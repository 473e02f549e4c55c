/* SPDX-License-Identifier: MIT
 *
 * load.h - System.load of the agent's file, through the app's debug port.
 */
#ifndef ATTACH_ADB_LOAD_H
#define ATTACH_ADB_LOAD_H

#include "base/base.h"

struct adb_app;
struct adb_request;

/* patience_ms: how long to retry a debug port that does not answer; a starting app has none at
 * first. */
int adb_app_load(struct adb_app *app, const struct adb_request *q, const char *path,
		 int patience_ms, struct err *err);

#endif
