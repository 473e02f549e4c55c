/* SPDX-License-Identifier: MIT
 *
 * start.h - the target's side of the server: starts the process beside the target, and talks to it
 * for the target's threads.
 */
#ifndef MT_SERVER_START_H
#define MT_SERVER_START_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_server_start(void); /* from the constructor, or in a forked child */
void mt_server_look(void);  /* tells the server to check soon which rights the target still has */
void mt_server_exec_begins(void); /* release the socket's name; called by the target */
void mt_server_exec_failed(void);
/* the target has become, or is no longer, whom orphans fall to */
void mt_server_inherits(bool orphans);
bool mt_server_would_die(void); /* about a seccomp filter in force */
bool mt_server_running(void);
bool mt_server_await(void); /* until it listens, or cannot: false */
void mt_server_leave(void); /* tells the server to remove the hooks, and end */
/* a session runs whose server was killed, or could not start: mt_server_start() starts another */
bool mt_server_lost(void);
bool mt_server_gone(void);          /* there is no server, and none is just ending */
bool mt_server_dies_along(void);    /* the server may end at once when the target ends */
bool mt_server_dumps_at_exit(void); /* a dump may be due at the exit: it must be told */
#define EXIT_UNKNOWN (-1)
void mt_server_exit(int status); /* exit() or _exit() is under way with that status; optional */
uint32_t mt_server_mark(const char *name); /* memtop_mark(): its number; 0 = no server */

#pragma GCC visibility pop

#endif
