/* SPDX-License-Identifier: MIT
 *
 * texts.h - texts that are kept once: the same file and function names come thousands of times.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include "base.h"

struct texts {                 /* all 0: empty */
	char **list;            /* open addressing, a power of two; owned */
	size_t room, used;
};

/* The one copy of it, until texts_release(). NULL for NULL. */
const char *texts_keep(struct texts *s, const char *text);
void texts_release(struct texts *s);

#endif
