/* SPDX-License-Identifier: MIT
 *
 * tree.h - the joined stacks of a diff as one call tree of functions, or of their lines. Main
 * thread only.
 *
 *   sum of a node and below = sum over the joined stacks through it, for each session
 */
#ifndef DIFF_TREE_H
#define DIFF_TREE_H

#include "diff/calls.h"
#include "diff/diff.h"

struct diff_code {                    /* of a frame: where its first stack has it */
	const struct side_module *in; /* NULL = outside of every module */
	uint64_t offset;
	uint8_t kind; /* enum mtw_node */
};

struct diff_range { /* of stacks: [first, own) end at a node, [first, end) there or below */
	uint32_t first, own, end;
};

struct diff_tree {
	const struct diff *d; /* borrowed */
	bool by_line;         /* calls at two lines of one function are two nodes */
	struct calls calls;
	struct diff_code *code; /* by frame */
	size_t code_room;
	uint32_t *leaves;          /* by joined stack: its node */
	uint32_t *stacks;          /* the joined stacks, by their nodes in depth-first order */
	struct diff_range *ranges; /* by node: in stacks */
	struct diff_row *rows;     /* by node: here and below, judged */
	struct tally *sums;        /* of all rows */
};

void diff_tree_make(struct diff_tree *t, const struct diff *d, bool by_line);
void diff_tree_release(struct diff_tree *t);

#endif
