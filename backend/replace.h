/* SPDX-License-Identifier: MIT
 *
 * replace.h - a new file in the place of one that a user named, whole or not at all.
 */
#ifndef REPLACE_H
#define REPLACE_H

#include "base.h"
#include <limits.h>

struct replacement {
	char path[PATH_MAX];      /* what is replaced: the file itself where a link was named */
	char part[PATH_MAX + 8];  /* beside it, new and empty: to be filled, or unlinked and made again */
};

/* 0, or -1 with a reason: anything but a file keeps its name. */
int replace_begin(struct replacement *r, const char *path, struct err *err);
/* The part takes the place; -1: it does not, and is gone. */
int replace_end(struct replacement *r, struct err *err);
void replace_give_up(const struct replacement *r);

#endif
