/* SPDX-License-Identifier: MIT
 *
 * compared.h - the lines above every view for a diff of two sessions, and what such a view lacks.
 * Main thread; the drawing only while the terminal is on.
 */
#ifndef COMPARED_H
#define COMPARED_H

#include "diff/tree.h"
#include "screen/draw.h"
#include "screen/keys.h"

/* Row 0: which session is A, and which is B. */
void compared_header(const struct diff *d, const struct area *s);
void compared_verdict(const struct diff *d, const struct area *s, int y);
void compared_totals(const struct diff *d, const struct area *s, int y);
/* A request's line in the help page; NULL = a diff lacks it: it needs a program, or its time. */
const char *compared_help(enum request r);

#endif
