/* SPDX-License-Identifier: MIT
 *
 * names.h - what code locations are called, as known at one moment. Immutable; any thread. The
 * strings belong to the symbols, which outlive it. owners/names.h makes it: names_take().
 */
#ifndef HEAP_NAMES_H
#define HEAP_NAMES_H

#include "heap/users.h"
#include "model/paths/types.h"

struct heap_frame {
	uint32_t function, line;
	const char *file;
	bool inlined;
};

struct heap_function {
	const char *name;     /* short, or "libtile.so+0x1a40" */
	const char *function; /* full; NULL = unknown */
	uint32_t lib;         /* NO_ID = outside of every module */
	bool wrapper;         /* allocates for its caller */
};

struct heap_names {
	atomic_uint users;
	uint32_t locations, functions;
	uint32_t *first;           /* by location, and one more: its frames, innermost first */
	struct heap_frame *frames; /* at least one a location */
	struct heap_function *function;
	/* By location: its first frame that is no wrapper, from `first` on; NO_ID = all are. */
	uint32_t *site_frame;
};

struct heap_names *heap_names_hold(struct heap_names *n);
void heap_names_drop(struct heap_names *n); /* NULL: nothing */

#endif
