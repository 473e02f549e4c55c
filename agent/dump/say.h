/* SPDX-License-Identifier: MIT
 *
 * say.h - whether the server writes session files by itself, and the one line that says why it
 * cannot. Server thread, but for the first two.
 */
#ifndef MT_DUMP_SAY_H
#define MT_DUMP_SAY_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

bool dump_wanted(void); /* any of the options is given */
/* Does the target wait at its exit, announced with this status, until the dump is written? */
bool dump_at_status(int status);
void dump_begin(struct server *s); /* before the server leaves its folder */
/* A program that has used up its limit of address space is worth a dump. So as much as one needs is
 * kept, and costs no memory. */
void dump_keep_room(struct server *s);
void dump_use_room(struct server *s);
void dump_say(struct server *s, const char *text); /* to viewers, and to the program's stderr */
/* The server is about to give up the right to open files. */
void dump_sealed(struct server *s, const char *why);

#pragma GCC visibility pop

#endif
