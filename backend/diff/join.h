/* SPDX-License-Identifier: MIT
 *
 * join.h - which stacks of several sessions are the same. Main thread only.
 *
 * Frames are compared one by one, from the outermost:
 *  - Sessions of one run (two instants): by module and offset, as recorded.
 *  - Code of a build that every session has (the same build-id): by offset.
 *  - Other code: by function name (diff/plain.h), each inlined function as a frame of its own; the
 *    lines and the file's path do not count. When the sessions of one build lack inlined frames
 *    for a module (no debug information), its inlined frames do not count in any. A function of
 *    one unit is the same with its parameters as without: compilers differ in that.
 *  - A frame without a name: by its module. Two frames without names in one module are equal.
 * Stacks that remain in A alone or in B alone are compared once more by outline: without inlined
 * frames, and a function that calls itself counts once; first those whose call sites are the same
 * function, then all. What then remains is the same when the functions that A and B both have are,
 * or those of one side are among the other's in their order, and as many blocks and bytes were
 * allocated: tail calls and inlining that no debug information tells of take frames away, and an
 * edit may rename them. Where several stacks of a session are one here, the one that changed shows.
 */
#ifndef DIFF_JOIN_H
#define DIFF_JOIN_H

#include "diff/side.h"

enum join_by { JOIN_NOT, JOIN_RUN, JOIN_OFFSETS, JOIN_NAMES, JOIN_OUTLINE, JOIN_COMMON };
const char *join_by_name(enum join_by by); /* "offsets"; NULL for JOIN_NOT */

struct joined {
	/* the session's stack that has most names, or changed, where a session has several */
	uint32_t side, stack;
	enum join_by by; /* JOIN_NOT: in A alone, or in B alone */
	uint32_t among;  /* JOIN_OUTLINE: it is one of so many of its session; 0 = the only one */
};

struct join {
	const struct side *const *sides; /* borrowed */
	size_t count, sides_a;
	struct joined *list;
	struct tally *sums; /* by joined stack, one for each side */
	size_t list_count;
	uint32_t **of_stack; /* by side and its stack: the joined stack */
	struct join_keys *keys;
};

struct join *join_new(const struct side *const *sides, size_t sides_a, size_t count);
void join_free(struct join *j);

static inline struct tally *join_sums(const struct join *j, size_t joined)
{
	return &j->sums[joined * j->count];
}

/* A frame with the best names that any session has. */
struct join_frame {
	const char *function; /* full; NULL = unknown */
	const char *name;     /* short, or "libtile.so+0x1a40" */
	const char *plain;    /* function without what compilers add; NULL = unknown */
	const char *file;     /* NULL = unknown */
	uint32_t line;
	bool inlined;                 /* into the frame that follows */
	bool tells;                   /* worth naming as a caller */
	const struct side_module *in; /* NULL = outside of every module */
	const char *module;           /* its name */
	uint64_t offset;
	uint8_t kind; /* enum mtw_node */
	bool site;    /* the call site */
};
/* A joined stack's frames, innermost first. */
size_t join_frames(const struct join *j, size_t joined, struct join_frame *out, size_t max);
/* Those of one location of a side; none is the site. */
size_t join_location(const struct join *j, uint32_t side, uint32_t location, struct join_frame *out,
		     size_t max);
/* The frame of a stack's call site. False: it has none. */
bool join_site(const struct join *j, uint32_t side, size_t stack, struct join_frame *out);

#endif
