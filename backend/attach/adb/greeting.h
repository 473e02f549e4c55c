/* SPDX-License-Identifier: MIT
 *
 * greeting.h - does an agent answer behind a forwarded port?
 */
#ifndef ATTACH_ADB_GREETING_H
#define ATTACH_ADB_GREETING_H

#include "base/base.h"

struct adb_app;

/* To a port of this machine; -1: nobody listens. */
int adb_connect(int port);
/* 1: an agent answers on app->port; 0: none within limit_ms; -1 and *err. */
int adb_app_listens(struct adb_app *app, int limit_ms, struct err *err);

#endif
