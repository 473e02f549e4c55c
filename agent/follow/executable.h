/* SPDX-License-Identifier: MIT
 *
 * executable.h - inspects the program that an exec is about to run: follow/executable.c.
 */
#ifndef MT_FOLLOW_EXECUTABLE_H
#define MT_FOLLOW_EXECUTABLE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

#define EXECUTABLE_PATH 1024

struct executable {
	bool runs;    /* false: exec fails, or nobody knows what it will do */
	unsigned why; /* enum board_why; BOARD_FOLLOWED: the agent can go in */
	/* ... the one that is built for musl, beside one for glibc; or the other way round */
	bool other_libc;
	bool linked;                /* it has an agent inside: none is to be preloaded */
	char path[EXECUTABLE_PATH]; /* as it was given or found in PATH */
};

/* As execve() and execveat() find it. The file of a descriptor: path "", and empty = true. */
void mt_executable_look(struct executable *x, int folder, const char *path, bool empty);
/* As execvp() does: by PATH, and a text without "#!" is a script of /bin/sh. */
void mt_executable_search(struct executable *x, const char *file);

#pragma GCC visibility pop

#endif
