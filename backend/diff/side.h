/* SPDX-License-Identifier: MIT
 *
 * side.h - one session at one instant, as a diff needs it: its heap, the names of its code, and
 * what it is called. Main thread only.
 *
 * It outlives the watch that it came from. Strings are in the pool that all sides of a diff share,
 * so equal strings are equal pointers.
 *
 *   totals = sum over stacks     (a warning says so when the session's own totals differ)
 */
#ifndef DIFF_SIDE_H
#define DIFF_SIDE_H

#include "base/string_pool.h"
#include "heap/heap.h"
#include "heap/names.h"
#include "link/watch.h"

struct side_function { /* of a function of the names */
	/* full name without what compilers add (diff/plain.h); NULL = unknown */
	const char *plain;
	bool tells; /* names_tells(): worth naming as a caller */
};

struct side_module {
	const char *name;
	const char *role;  /* equal for the same library of two builds (diff/plain.h) */
	const char *build; /* build-id in hexadecimal; NULL = it has none */
	uint32_t flags;    /* MTW_MODULE_* */
	bool named, lines; /* some of its code has a name; lines and inlined frames */
};

struct side_stack {
	uint32_t number;               /* of the heap's stack */
	uint32_t site, site_frame;     /* call site: a node, and a frame of its location */
	const char *owner, *owner_key; /* shown; compared */
};

struct side {
	const char *label, *program; /* as the user named it */
	uint32_t pid;
	uint64_t start_unix_ns, time_ns; /* start of the program; the instant, since then */
	const char *state;               /* report_state(); NULL = an instant before its end */
	const char *mark;                /* the instant is this mark; NULL = it is none */
	bool estimate;                   /* totals have a sampled share */
	uint64_t peak_lacks;             /* watch_peak_lacks() */
	struct tally totals;
	struct heap *heap;          /* held */
	struct heap_names *names;   /* held; strings are the pool's */
	struct location *locations; /* by number; module NO_ID where it is not known */
	struct side_function *functions;
	struct side_module *modules;
	struct side_stack *stacks; /* those that count, heaviest first at the session's end */
	const char **warnings;     /* sentences */
	size_t module_count, stack_count, warning_count, warning_room;
};

static inline struct tally side_sum(const struct side *s, size_t stack)
{
	return heap_of_stack(s->heap, s->stacks[stack].number);
}
static inline uint32_t side_node(const struct side *s, size_t stack)
{
	return s->heap->skeleton->node_of_stack[s->stacks[stack].number];
}
static inline uint32_t side_location(const struct side *s, uint32_t node)
{
	return s->heap->skeleton->location[node];
}
/* Of a location: its frames, at least one, innermost first. */
static inline uint32_t side_frames(const struct side *s, uint32_t location)
{
	return s->names->first[location + 1] - s->names->first[location];
}
static inline const struct side_module *side_module(const struct side *s, uint32_t location)
{
	uint32_t module = s->locations[location].module;

	return module == NO_ID ? NULL : &s->modules[module];
}

struct report;

struct side_options {
	const char *label;
	struct report *report; /* of the watch; borrowed; NULL: one is made */
	/* does a stack count? NULL: all do. Totals are those of the stacks that count */
	bool (*counts)(void *arg, uint32_t stack);
	void *arg;
};

/* Of the instant that the watch shows. Waits for all names. */
struct side *side_new(struct watch *w, const struct side_options *o, struct string_pool *pool);
void side_free(struct side *s);

#endif
