/* SPDX-License-Identifier: MIT
 *
 * start.h - the target's side of the server: starts the process beside the target, and talks to it
 * for the target's threads.
 */
#ifndef MT_SERVER_START_H
#define MT_SERVER_START_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_server_start(void);       /* from the constructor, or in a forked child */
void mt_server_look(void);        /* soon: which rights the target still has */
void mt_server_exec_begins(void); /* let go of the name; called by the target */
void mt_server_exec_failed(void);
bool mt_server_would_die(void); /* of a filter of system calls that is in force */
bool mt_server_running(void);
bool mt_server_await(void);      /* until it listens, or cannot: false */
void mt_server_leave(void);      /* it is to take the hooks out, and end */
bool mt_server_gone(void);       /* there is none, and none that is just ending */
bool mt_server_dies_along(void); /* when the target ends, so may it, at once */
#define EXIT_UNKNOWN (-1)
void mt_server_exit(int status);           /* exit() or _exit() is under way with it; optional */
uint32_t mt_server_mark(const char *name); /* memtop_mark(): its number; 0 = no server */

#pragma GCC visibility pop

#endif
