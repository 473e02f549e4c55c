/* SPDX-License-Identifier: MIT
 *
 * agent_file.h - what an agent's file, or a program with the agent inside, says of itself. Any
 * thread.
 */
#ifndef LAUNCH_AGENT_FILE_H
#define LAUNCH_AGENT_FILE_H

#include "launch/progcheck.h"
#include <sys/types.h>

/*
 * Can memtop talk to the agent in `file`, and does it take what the user wrote: `variable`
 * (MEMTOP_OPTIONS) and `given` (--options; NULL = nothing)? 0, or -1 and *err with `status`. Of an
 * older agent's file, which does not describe itself, names of options are looked up in its
 * strings.
 */
int agent_file_check(const char *file, const char *variable, const char *given, int status,
		     struct err *err);

/* The value that an option has in `text`, the last one. "" = none. */
void agent_file_option(const char *text, const char *name, char *value, size_t size);
/* The version that an agent states, "0.1.0 or older" of one that states none. */
void agent_file_version(const struct elf_kind *k, char *version, size_t size);
/* Those of the agents in a process: more than one after an attach of another build. "" = none can
 * be read. */
void agent_file_versions(pid_t pid, char *versions, size_t size);

#endif
