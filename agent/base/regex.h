/* SPDX-License-Identifier: MIT
 *
 * regex.h - small regular expressions, for names of libraries.
 */
#ifndef MT_BASE_REGEX_H
#define MT_BASE_REGEX_H

#include "base/types.h"

#define REGEX_OPS 512

struct regex_op {
	uint8_t kind;       /* enum regex_kind in base/regex.c */
	uint8_t c;          /* the character of CHAR */
	uint16_t to, other; /* JUMP and SPLIT: where to go on; SET: number of the set */
};

struct regex {
	uint32_t count, sets;
	struct regex_op op[REGEX_OPS];
	uint8_t set[16][32]; /* a bit for each character */
};

/* NULL, or the error in the text, as the end of a sentence about it. */
const char *mt_regex_compile(struct regex *r, const char *text);
/* matches anywhere in the text, as grep -E does */
bool mt_regex_match(const struct regex *r, const char *text);

#endif
