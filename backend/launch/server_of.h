/* SPDX-License-Identifier: MIT
 *
 * server_of.h - which server belongs to which program, from what /proc shows. Main thread only.
 *
 * Pids here are those of memtop's /proc. A program in another pid namespace knows itself by another
 * number, and names its address by that: two programs may have one such number.
 */
#ifndef LAUNCH_SERVER_OF_H
#define LAUNCH_SERVER_OF_H

#include "base/base.h"
#include <sys/types.h>

#define AGENT_SERVER_NAME "memtop-agent" /* its /proc/PID/comm, set in agent/server/loop.c */

bool server_is_named(pid_t pid); /* has a server's name, which proves nothing */
/* The process of a pidfd, a name below /proc/HOLDER/fd; 0 = not a pidfd, or the process is gone. */
pid_t server_pidfd(pid_t holder, const char *fd);
/* The program that a server holds the pidfd of; 0 = not known: no permission, an older kernel, or
 * the program is gone. */
pid_t server_program(pid_t server);
/* Do both have one memory? By kcmp(), or where that is refused by what everyone may read. */
bool server_shares_memory(pid_t a, pid_t b);
bool server_is_older(pid_t a, pid_t b);
/* A process of that name, and what its program has in common with it. */
struct server_look {
	pid_t pid;
	uint64_t command;
};
struct server_look server_look(pid_t pid);
/* Has the process one of these, or a thread of that name? As far as everyone may read. */
bool server_is_there(pid_t pid, const struct server_look *servers, size_t count);
/* The number here of the program that knows itself as `inner`; 0 = the same one, or not known.
 * peer: its server; named: what the user called it, 0 = nothing. */
pid_t server_number_here(pid_t peer, pid_t inner, pid_t named);
/* Is it certain that this peer is not the process' server? A process that is gone had one. */
bool server_is_anothers(pid_t peer, pid_t pid);

#endif
