/* SPDX-License-Identifier: MIT
 *
 * dormant.h - a process without a listening agent. Any thread.
 */
#ifndef LAUNCH_DORMANT_H
#define LAUNCH_DORMANT_H

#include "base/base.h"
#include "launch/target.h"

/*
 * Is there a session in the process of t (-p PID), or will there soon be one? 0; else -1 and *err
 * (status 3): why not. Takes a third of a second at most, or three from the start of a process that
 * has the agent. attachable: NULL, or whether memtop attach is what to do.
 */
int dormant_check(const struct target *t, bool *attachable, struct err *err);

#endif
