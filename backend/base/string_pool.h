/* SPDX-License-Identifier: MIT
 *
 * string_pool.h - a set of strings: the same file and function names occur thousands of times.
 */
#ifndef BASE_STRING_POOL_H
#define BASE_STRING_POOL_H

#include "base/base.h"

struct string_pool { /* all 0: empty */
	char **list; /* open addressing, a power of two; owned */
	size_t room, used;
};

/* The set's copy of the text, valid until string_pool_release(). NULL for NULL. */
const char *string_pool_keep(struct string_pool *s, const char *text);
void string_pool_release(struct string_pool *s);

#endif
