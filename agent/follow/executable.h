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
	bool runs;    /* false: exec fails, or its effect is unknown */
	unsigned why; /* enum board_why; BOARD_FOLLOWED: the agent can go in */
	/* ... the agent built for musl, beside one for glibc; or the other way round */
	bool other_libc;
	bool linked;                /* it has an agent linked in: do not preload one */
	char path[EXECUTABLE_PATH]; /* as given, or as found in PATH */
};

/* Finds the file as execve() and execveat() do. For a descriptor's file: path "", and empty = true.
 */
void mt_executable_look(struct executable *x, int folder, const char *path, bool empty);
/* Finds the file as execvp() does: by PATH, and a text without "#!" is a script of /bin/sh. */
void mt_executable_search(struct executable *x, const char *file);

#pragma GCC visibility pop

#endif
