/* SPDX-License-Identifier: MIT
 *
 * name.h - the one shortener of functions' names, for rows of a known width. Pure, any thread.
 */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include "base/base.h"

#define NAME_TEXT 4096 /* bytes of a name in a row, with its end */

/* Writes s, foreign text, in so many columns: a longer one loses what stands in brackets, then its
 * middle, where `dots` are. Returns out. */
const char *name_fit(char out[NAME_TEXT], const char *s, size_t columns, const char *dots);

#endif
