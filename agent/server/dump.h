/* SPDX-License-Identifier: MIT
 *
 * dump.h - session files that the server writes by itself: dump_signal=, dump_at_exit=,
 * dump_on_fail=, dump_on_growth=, dump_on_rss=. Server thread.
 */
#ifndef MT_SERVER_DUMP_H
#define MT_SERVER_DUMP_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

/* The signal came: dump_check() is due, and the tick before it. */
bool dump_asked(struct server *s);
void dump_check(struct server *s); /* after a tick */
/* The program has ended, or says so: is a dump due? dump_end() writes it, after the last tick. */
bool dump_due_at_end(struct server *s);
void dump_end(struct server *s);

#pragma GCC visibility pop

#endif
