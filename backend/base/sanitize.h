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

/* The character at s, which is not at its end: its bytes, at least 1. *cp: its code point, or
 * FOREIGN_BAD: no UTF-8. */
size_t sanitize_decode(const char *s, int32_t *cp);
/* The same for what is to be shown: its bytes, at least 1. *cp: its code point (a tab stays one),
 * or the above. */
size_t sanitize_char(const char *s, int32_t *cp);
/* s as it may be shown, in one line, cut between characters to what fits. buf may be s. Returns
 * buf. */
char *sanitize_clean(char *buf, size_t size, const char *s);
/* The same into a stream, of `size` bytes of a string; a character that they halve is taken
 * whole. */
void sanitize_put(FILE *out, const char *s, size_t size);

#endif
