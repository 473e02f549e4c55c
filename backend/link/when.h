/* SPDX-License-Identifier: MIT
 *
 * when.h - reads an instant as a user writes it, for :at and --at. Main thread only.
 */
#ifndef LINK_WHEN_H
#define LINK_WHEN_H

#include "model/model.h"

/*
 * A mark's name or number, peak, now, end (the same), start, 0:12:09, 12:09.250 or 90s since the
 * start of the program, -2m or -30s before `now_ns`. Nanoseconds since the start of the program;
 * now is now_ns, and 0 is before the start. False: no such instant, and WHEN_WORDS says what can be
 * written.
 */
bool when_read(const struct model *m, uint64_t now_ns, const char *text, uint64_t *time_ns);
/* One that when_read() read lies in a session that ends at now_ns; else *err (2) says so. */
bool when_lies_in(uint64_t now_ns, const char *text, uint64_t time_ns, struct err *err);
#define WHEN_WORDS "a mark, peak, now, 0:12:09 since the start, or -2m before the end"

#endif
