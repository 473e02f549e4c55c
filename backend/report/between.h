/* SPDX-License-Identifier: MIT
 *
 * between.h - the interval that a user named: two marks, or a window. Main thread only.
 */
#ifndef REPORT_BETWEEN_H
#define REPORT_BETWEEN_H

#include "report/format.h"

struct watch;

struct between {
	const char *text; /* "m1..m2", or "parse"; borrowed */
	char from[128];   /* the first mark, or the window */
	const char *to;   /* the second mark, in text; NULL = a window */
};

/* 0, or -1 and *err (2): it is neither. */
int between_parse(const char *text, struct between *b, struct err *err);
/* "start" and "now" are 0; also an end that between_end() made. -1 and *err (2): there is no such
 * mark. */
int between_mark(const struct model *m, const char *word, uint32_t *id, struct err *err);
/* The same for a word that may be an instant, too, as --at has it: what was live then becomes `end`
 * (0 or 1) of an interval of watch_model(), which shows the same instant as before.
 * -1 and *err: or it lies outside of the session. */
int between_end(struct watch *w, const char *word, unsigned end, uint32_t *id, struct err *err);
/* Both ends of an interval that is no window, so that between_find() has them. */
int between_go(struct watch *w, const struct between *b, struct err *err);
/* The next window of that name after the mark `after`, 0 = from the first one on: "parse",
 * "parse-2", ... 0 = there is none. */
uint32_t between_next_window(const struct model *m, const char *name, uint32_t after);
/* As between_find(), of the window that begins at that mark. -1 and *err (2): it has no end. */
int between_window(const struct model *m, uint32_t id, struct report_options *o, struct err *err);
/* Sets o->from, to and window; of several windows of a name the first. -1 and *err (2): a mark is
 * missing. */
int between_find(const struct model *m, const struct between *b, struct report_options *o,
		 struct err *err);

#endif
