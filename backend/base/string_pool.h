/* SPDX-License-Identifier: MIT
 *
 * string_pool.h - a set of strings: the same file and function names come thousands of times.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include "base/base.h"

struct texts {                 /* all 0: empty */
	char **list;            /* open addressing, a power of two; owned */
	size_t room, used;
};

/* The set's copy of the text, valid until texts_release(). NULL for NULL. */
const char *texts_keep(struct texts *s, const char *text);
void texts_release(struct texts *s);

#endif
