/* SPDX-License-Identifier: MIT
 *
 * paths.h - a path through the trie, made in pieces as unwind/incremental.c makes it.
 */
#ifndef TESTS_UNIT_AGENT_UNWIND_PATHS_H
#define TESTS_UNIT_AGENT_UNWIND_PATHS_H

#include "unwind/stacks.h"
#include "unwind/stacks_fast.h"

/* Fills a path of `n` new nodes below `parent`, and enters it. Returns the answer; 0: no room. */
static inline node_id branch(node_id parent, const code_id *code, uint32_t n)
{
	node_id first = mt_stacks_reserve(n, NEED_WHOLE);

	for (node_id id = first; id && id < first + n; id++) {
		stacks_fill(id, parent, *code++, id + 1 < first + n ? id + 1 : 0);
		parent = id;
	}
	return first ? mt_stacks_enter(first) : 0;
}

static inline node_id known(node_id parent, code_id code)
{
	struct node *child;
	uint32_t listed;
	node_id id = stacks_listed(stacks_node(parent), node_step(parent, code), &child, &listed);

	return id || listed < LISTED ? id : mt_stacks_hashed(parent, code);
}

/* The node at the end of the path from the root. */
static inline node_id path(const code_id *code, uint32_t n)
{
	node_id node = 0;

	for (uint32_t i = 0; i < n; i++) {
		node_id next = known(node, code[i]);
		node = next ? next : branch(node, code + i, n - i);
		if (!node)
			return 0;
	}
	return node;
}

#endif
