/* SPDX-License-Identifier: MIT
 *
 * atomic_file.h - replaces a file that the user named, whole or not at all.
 */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include "base/base.h"
#include <limits.h>

struct replacement {
	char path[PATH_MAX]; /* the file to replace, links resolved */
	/* the new, empty file beside it: write it, or unlink and create it again */
	char part[PATH_MAX + 8];
};

/* 0, or -1 and *err: only a regular file can be replaced. */
int atomic_file_begin(struct replacement *r, const char *path, struct err *err);
/* Renames the part over the file; -1: the file stays, the part is removed. */
int atomic_file_end(struct replacement *r, struct err *err);
/* The part made again, with the user's mode; NULL and errno. Close it before atomic_file_end(). */
FILE *atomic_file_stream(const struct replacement *r);
void atomic_file_give_up(const struct replacement *r);

#endif
