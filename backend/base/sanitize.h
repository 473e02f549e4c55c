/* SPDX-License-Identifier: MIT
 *
 * sanitize.h - cleans foreign text: names from binaries, threads, marks, paths, arguments. Control
 * codes, and characters that hide or reorder their neighbours, must not reach a terminal: neither
 * as ASCII nor as UTF-8 (C1) nor as invalid bytes. Pure, any thread.
 */
#ifndef BASE_SANITIZE_H
#define BASE_SANITIZE_H

#include "base/base.h"

#define FOREIGN_BAD (-1)    /* shown as '?' */
#define FOREIGN_HIDDEN (-2) /* left out */

/* Decodes the character at s, which is not the end: returns its bytes, at least 1. *cp: its code
 * point, or FOREIGN_BAD for invalid UTF-8. */
size_t sanitize_decode(const char *s, int32_t *cp);
/* The same for display: returns its bytes, at least 1. *cp: its code point (a tab stays), or one
 * of the above. */
size_t sanitize_char(const char *s, int32_t *cp);
/* Columns of a terminal that a code point takes: 0 joins the one before, 2 is wide. No locale is
 * asked, so that a report is the same everywhere. Where terminals differ, the most. */
unsigned sanitize_columns(int32_t cp);
/* Makes s safe to show in one line, cut between characters to fit. buf may be s. Returns buf. */
char *sanitize_clean(char *buf, size_t size, const char *s);
/* The same into a stream, for `size` bytes of a string; a character cut by `size` is written
 * whole. */
void sanitize_put(FILE *out, const char *s, size_t size);

#endif
