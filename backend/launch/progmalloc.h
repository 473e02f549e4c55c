/* SPDX-License-Identifier: MIT
 *
 * progmalloc.h - tells from a program's file, before it starts, whose malloc its calls will reach.
 * Any thread.
 */
#ifndef LAUNCH_PROGMALLOC_H
#define LAUNCH_PROGMALLOC_H

#include "base/base.h"

struct progmalloc {
	/* "address", ...: of -fsanitize=, one whose malloc no agent can stand before; NULL =
	 * none */
	const char *sanitizer;
	bool own;        /* the program defines malloc, for itself and for its libraries */
	bool own_hidden; /* ... for itself alone */
	/* "mi_malloc", ...: it calls such a function of another allocator; NULL = none known */
	const char *other;
};

/* Of an executable for this machine's word size; nothing is told of what cannot be read. */
void progmalloc_read(const char *path, struct progmalloc *m);

/* The sanitizer whose library has such a file name; NULL = it is none that brings a malloc. */
const char *progmalloc_sanitizer(const char *library);
/* The sentence about a process that runs with it. Returns -1. */
int progmalloc_refuse(const char *name, const char *sanitizer, struct err *err);

#endif
