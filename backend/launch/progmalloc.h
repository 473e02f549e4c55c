/* SPDX-License-Identifier: MIT
 *
 * progmalloc.h - tells from a program's file, before it starts, whose malloc its calls will reach.
 * Any thread.
 */
#ifndef LAUNCH_PROGMALLOC_H
#define LAUNCH_PROGMALLOC_H

#include "base/base.h"

struct progmalloc {
	/* "address", ...: the -fsanitize= name of a sanitizer with a malloc that cannot be
	 * interposed; NULL = none */
	const char *sanitizer;
	bool own;        /* the program defines malloc, for itself and for its libraries */
	bool own_hidden; /* ... for itself alone */
	/* "mi_malloc", ...: another allocator's function that it calls; NULL = none known */
	const char *other;
};

/* Reads an executable for this machine's word size; unreadable parts set nothing. */
void progmalloc_read(const char *path, struct progmalloc *m);

/* The sanitizer whose library has this file name; NULL = none with a malloc. */
const char *progmalloc_sanitizer(const char *library);
/* Sets *err for a process that runs with this sanitizer. Returns -1. */
int progmalloc_refuse(const char *name, const char *sanitizer, struct err *err);

#endif
