/* SPDX-License-Identifier: MIT
 *
 * columns.h - text by the columns of a terminal that it takes: measured, cut, wrapped. The text is
 * clean (base/sanitize.h). No locale is asked, so that a report is the same everywhere. Pure, any
 * thread.
 */
#ifndef BASE_COLUMNS_H
#define BASE_COLUMNS_H

#include "base/base.h"

#define COLUMNS_OF_TEXT 80 /* of a report for people */

size_t columns_of(const char *s);
/* s in so many columns at most, its middle replaced by `dots`; returns buf. Characters stay
 * whole. In less than dots and two columns, its beginning alone. */
const char *columns_clip(char *buf, size_t size, const char *s, size_t columns, const char *dots);
/* Writes text with lines of COLUMNS_OF_TEXT at most: a longer one goes on below, indented. */
void columns_wrap(const char *text, FILE *out);

#endif
