/* SPDX-License-Identifier: MIT
 *
 * side.h - one session at one instant, as a diff needs it: its stacks with their amounts, and the
 * names on the way. Main thread only.
 *
 * A side is a copy: the watch that it came from may be closed. Strings are in the pool that all
 * sides of a diff share, so equal strings are equal pointers.
 *
 *   totals = sum over stacks     (a warning says so when the session's own totals differ)
 */
#ifndef DIFF_SIDE_H
#define DIFF_SIDE_H

#include "base/string_pool.h"
#include "link/watch.h"

struct side_frame {
	const char *function; /* full; NULL = unknown */
	const char *name;     /* short, or "libtile.so+0x1a40" */
	/* function without what compilers add (diff/plain.h); NULL = unknown */
	const char *plain;
	const char *file; /* NULL = unknown */
	uint32_t line;
	bool inlined; /* into the frame that follows */
	bool tells;   /* names_tells(): worth naming as a caller */
};

struct side_module {
	const char *name;
	const char *role;  /* equal for the same library of two builds (diff/plain.h) */
	const char *build; /* build-id in hexadecimal; NULL = it has none */
	uint32_t flags;    /* MTW_MODULE_* */
	bool named, lines; /* some of its code has a name; lines and inlined frames */
};

struct side_place {      /* a code location */
	uint32_t module; /* in modules; NO_ID = none */
	uint8_t kind;    /* enum mtw_node */
	uint64_t offset;
	uint32_t first, count; /* in frames, innermost first */
};

struct side_node { /* 0 is the root; parents come before children */
	uint32_t parent, place;
};

struct side_stack {
	uint32_t node;                 /* innermost; the model's dense index */
	uint32_t site, site_frame;     /* call site: a node, and a frame of its place */
	const char *owner, *owner_key; /* shown; compared */
	bool estimate;                 /* a part of sum was sampled */
	struct tally sum;
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
	struct side_module *modules;
	struct side_place *places;
	struct side_frame *frames;
	struct side_node *nodes;
	struct side_stack *stacks;
	const char **warnings; /* sentences */
	size_t module_count, place_count, frame_count, node_count, stack_count, warning_count;
	size_t frame_room, warning_room;
};

struct report;
struct report_stack;

struct side_options {
	const char *label;
	uint32_t mark;         /* see below */
	struct report *report; /* of the watch; borrowed; NULL: one is made */
	/* does a stack count? NULL: all do. Totals are those of the stacks that count */
	bool (*counts)(void *arg, const struct report_stack *s);
	void *arg;
};

/*
 * mark: the instant is this mark of what the watch shows, and amounts are exact as of it; 0: what
 * the watch shows. Waits for all names. NULL and *err: the mark kept only its totals.
 */
struct side *side_new(struct watch *w, const struct side_options *o, struct string_pool *pool,
		      struct err *err);
void side_free(struct side *s);

#endif
