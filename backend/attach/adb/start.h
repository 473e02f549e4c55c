/* SPDX-License-Identifier: MIT
 *
 * start.h - an app with the agent from its start. app.h includes it.
 */
#ifndef ATTACH_ADB_START_H
#define ATTACH_ADB_START_H

#include "base/base.h"

struct adb_app;
struct adb_request;

/* Needs app->package; sets app->way. */
int adb_app_start(struct adb_app *app, const struct adb_request *q, struct err *err);

#endif
