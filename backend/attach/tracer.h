/* SPDX-License-Identifier: MIT
 *
 * tracer.h - forks the process that loads the agent (attach/ptrace/inject.h). Main thread only.
 */
#ifndef ATTACH_TRACER_H
#define ATTACH_TRACER_H

#include "attach/ptrace/inject.h"

/* 0 when *r is filled; -1 and *err. The process may go on after that: r->lingers. */
int attach_trace(const struct inject_job *job, struct inject_result *r, struct err *err);

#endif
