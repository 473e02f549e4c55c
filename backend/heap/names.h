/* SPDX-License-Identifier: MIT
 *
 * names.h - what code locations are called, as known at one moment. Immutable; any thread. The
 * strings belong to the symbols, which outlive it. owners/names.h says what came since, and any
 * thread makes the next of it.
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
	uint8_t kind;         /* enum mtw_node */
	bool wrapper;         /* allocates for its caller */
	bool tells;           /* names_tells() */
};

/* What is known of a location, beside its frames. */
struct heap_place {
	uint32_t module, lib; /* NO_ID = none */
	uint8_t kind;
	bool asked;   /* for its name: else its one frame is a placeholder, "libtile.so+0x1a40" */
	bool pending; /* its name may still come */
	bool agent;   /* code of the agent */
};

struct heap_names {
	atomic_uint users;
	uint32_t locations, functions, libs;
	uint32_t *first;           /* by location, and one more: its frames, innermost first */
	struct heap_frame *frames; /* at least one a location */
	struct heap_function *function;
	struct heap_place *place; /* by location */
	/* By location: its first frame that is no wrapper, from `first` on; NO_ID = all are. */
	uint32_t *site_frame;
};

static inline uint32_t heap_frames(const struct heap_names *n, uint32_t location)
{
	return n->first[location + 1] - n->first[location];
}

/* What the next names have otherwise. */
struct heap_news {
	uint32_t locations, libs; /* how many there are */
	struct heap_renamed {
		uint32_t location, count; /* its frames: */
		uint32_t site; /* the first of them that is no wrapper, NO_ID = all are */
		size_t frames; /* where they begin in: */
		struct heap_place place;
	} * list; /* each location once, and all that are new */
	struct heap_frame *frames;
	struct heap_function *functions; /* those from the first_function on */
	uint32_t first_function;
	size_t count, room, frame_count, frame_room, function_count, function_room;
};

/* from NULL: everything is in the news, which are put in order. The caller holds it. */
struct heap_names *heap_names_new(const struct heap_names *from, struct heap_news *news);
void heap_news_release(struct heap_news *news);
struct heap_names *heap_names_hold(struct heap_names *n);
void heap_names_drop(struct heap_names *n); /* NULL: nothing */

#endif
