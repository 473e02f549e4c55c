/* SPDX-License-Identifier: MIT
 *
 * dormant.h - a process without a listening agent. Any thread.
 */
#ifndef LAUNCH_DORMANT_H
#define LAUNCH_DORMANT_H

#include "base/base.h"
#include "launch/target.h"

/*
 * Has the process of t (-p PID) a session, or will it soon? 0; else -1 and *err (status 3) with the
 * reason. Takes at most a third of a second, or three seconds from the start of a process with the
 * agent. attachable: NULL, or whether memtop attach can help.
 */
int dormant_check(const struct target *t, bool *attachable, struct err *err);

#endif
