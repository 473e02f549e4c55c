/* SPDX-License-Identifier: MIT
 *
 * agent_file.h - what an agent's file, or a program with the agent inside, says of itself. Any
 * thread.
 */
#ifndef LAUNCH_AGENT_FILE_H
#define LAUNCH_AGENT_FILE_H

#include "base/base.h"

/*
 * Can memtop talk to the agent in `file`, and does it take what the user wrote: MEMTOP_OPTIONS, and
 * `given` (--options; NULL = nothing)? 0, or -1 and *err with `status`. Of an older
 * agent's file, which does not describe itself, names of options are looked up in its strings.
 */
int agent_file_check(const char *file, const char *given, int status, struct err *err);

#endif
