/* SPDX-License-Identifier: MIT
 *
 * compared.h - the lines above every view for a diff of two sessions, and what such a view lacks.
 * Main thread; the drawing only while the terminal is on.
 */
#ifndef COMPARED_H
#define COMPARED_H

#include "diff/diff.h"
#include "screen/draw.h"
#include "screen/request.h"

/* Row 0: which session is A, and which is B. */
void compared_header(const struct diff *d, const struct area *s);
void compared_verdict(const struct diff *d, const struct area *s, int y);
void compared_totals(const struct diff *d, const struct area *s, int y);
/* A request that needs a program, its marks or its time. */
bool compared_lacks(enum request r);

#endif
