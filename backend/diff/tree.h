/* SPDX-License-Identifier: MIT
 *
 * tree.h - the joined stacks of a diff as one call tree of functions, or of their lines. Main
 * thread only.
 *
 * The tree is a union (heap/union.h) of the sessions' trees by the names of frames, and each
 * session has a heap on it: what a node and all below it hold is heap_incl() of each.
 */
#ifndef DIFF_TREE_H
#define DIFF_TREE_H

#include "diff/diff.h"
#include "heap/union.h"

#define DIFF_LINES UINT32_MAX /* calls from several lines */

struct diff_tree {
	const struct diff *d; /* borrowed */
	bool by_line;         /* calls at two lines of one function are two nodes */
	struct heap_union calls;
	/* by a node's location: the frame as the first stack has it, and a file where one has it */
	struct join_frame *frames;
	size_t frame_count, frame_room;
	uint32_t *line;      /* by node: of the call in it; 0 = unknown, or DIFF_LINES */
	uint32_t *leaves;    /* by joined stack: its node */
	uint32_t *joined;    /* by stack: the first joined one that ends there */
	struct heap **heaps; /* by session; held */
};

void diff_tree_make(struct diff_tree *t, const struct diff *d, bool by_line);
void diff_tree_release(struct diff_tree *t);

/* What each session holds at a node, with all that is below it. */
void diff_tree_sums(const struct diff_tree *t, uint32_t node, struct tally sums[DIFF_SESSIONS_MAX]);

#endif
