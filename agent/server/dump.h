/* SPDX-License-Identifier: MIT
 *
 * dump.h - session files that the server writes by itself: dump_signal=, dump_at_exit=,
 * dump_on_fail=, dump_on_growth=, dump_on_rss=. Server thread, but for dump_wanted() and
 * dump_at_status().
 */
#ifndef MT_SERVER_DUMP_H
#define MT_SERVER_DUMP_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

bool dump_wanted(void); /* any of these options is given */
/* Does the target wait at its exit, announced with this status, until the dump is written? */
bool dump_at_status(int status);
void dump_begin(struct server *s);
/* The signal came: dump_check() is due, and the tick before it. */
bool dump_asked(struct server *s);
void dump_check(struct server *s); /* after a tick */
/* The program has ended, or says so: is a dump due? dump_end() writes it, after the last tick. */
bool dump_due_at_end(const struct server *s);
void dump_end(struct server *s);
/* The server is about to give up the right to open files. */
void dump_sealed(struct server *s, const char *why);

#pragma GCC visibility pop

#endif
