/* SPDX-License-Identifier: MIT
 *
 * agent_server.h - the agent's server beside its program: a process that shares the program's
 * memory, has its command line, and must not be watched. Any thread; reads /proc.
 */
#ifndef LAUNCH_AGENT_SERVER_H
#define LAUNCH_AGENT_SERVER_H

#include "base/base.h"
#include "launch/server_of.h"
#include <sys/types.h>

#define AGENT_SERVER_ALONE (-1)
#define AGENT_FILE "libmemtop-agent.so" /* in the name of its mappings, a file's or a memfd's */

/* The process that the agent's server `pid` shares memory with; AGENT_SERVER_ALONE: it has
 * ended; 0: pid is no server. */
pid_t agent_server_program(pid_t pid);
/* Sets *err to "what: WHY; what to do". program: as above, not 0; name: its name, sanitized.
 * Returns -1. Pure. */
int agent_server_explain(const char *what, pid_t program, const char *name, struct err *err);

#endif
