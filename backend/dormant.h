/* SPDX-License-Identifier: MIT
 *
 * dormant.h - a process that nobody listens for, although the agent is in it. Any thread.
 */
#ifndef DORMANT_H
#define DORMANT_H

#include "base.h"

/*
 * For a process `name` that nobody listens for. 1: the agent is not in it; 0: it listens by now; -1 and *err
 * (status 3): the agent is in it, and why it is no session. Takes a third of a second at most.
 */
int dormant_check(const char *target, int pid, const char *name, struct err *err);

#endif
