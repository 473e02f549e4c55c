/* SPDX-License-Identifier: MIT
 *
 * denied.h - what stands in the agent's way on a device.
 */
#ifndef ATTACH_ADB_DENIED_H
#define ATTACH_ADB_DENIED_H

#include "base/base.h"

struct adb_app;

/* 0; -1 and *err: the process runs with a sanitizer, whose malloc cannot be interposed. If the
 * check fails, 0. */
int adb_refuse_sanitizer(const struct adb_app *app, struct err *err);
/* A load failed with *err: where SELinux enforces, adds the refusal from the logs. */
void adb_explain_denied(const struct adb_app *app, struct err *err);

#endif
