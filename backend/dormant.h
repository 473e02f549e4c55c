/* SPDX-License-Identifier: MIT
 *
 * dormant.h - a process that nobody listens for, although the agent is in it. Any thread.
 */
#ifndef DORMANT_H
#define DORMANT_H

#include "base.h"

/* True, with *err (status 3) naming the process `name`: the agent is in it, and why it is no session. */
bool dormant_explain(const char *target, int pid, const char *name, struct err *err);

#endif
