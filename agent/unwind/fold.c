/* SPDX-License-Identifier: MIT
 *
 * fold.c - a stack that there is no room for as a whole.
 *
 * The call tree is bounded (base/arena.c), and what is finest goes first:
 * - When it has taken half of the cap, recursion is folded (server/commands.c, unwind/cache.c).
 * - Stacks first met when the share for whole ones is taken, mostly rare ones, keep their 16
 *   innermost frames, then 4, then the call site alone, below TRUNCATED(NODES). A stack of no more
 *   frames than that stays whole, in its usual place.
 * - The last shares of the cap are for the nodes and slots of call sites. Their number is bounded
 * by the calls in the code, however many stacks there are.
 * - A thread without memory for its own counters of a slot counts in the shared state (record/
 *   book.c), whose counters are never refused: one set for all threads.
 * So totals and call sites are exact. The owner is exact while 4 frames are kept; of the call site
 * alone, a caller of strdup() is not known.
 *
 * The kept frames of a folded stack have no nodes, so each capture looks up its 16 inner edges
 * again. A stack that comes again is a hit (unwind/fast.h).
 */
#include "unwind/fold.h"
#include "unwind/incremental.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>

/* The innermost n frames; 0: there is no room. */
static node_id path_of(struct unwind_cache *u, const struct inner *inner, uint32_t n, node_id node,
		       enum need need)
{
	while (n > 0) {
		node = unwind_edge(u, node, inner->code[--n], need);
		if (!node)
			break;
	}
	return node;
}

MT_COLD node_id mt_unwind_fold(struct unwind_cache *u, const struct inner *inner, node_id outer)
{
	static const struct {
		uint32_t frames;
		enum need need;
	} steps[] = { { FOLD_MOST, NEED_INNER }, { 4, NEED_FEW }, { 1, NEED_CALL_SITES } };
	node_id top = mt_stacks_truncated(MTW_TRUNC_NODES);

	for (size_t i = 0; inner->n && i < sizeof(steps) / sizeof(steps[0]); i++) {
		bool all = inner->n <= steps[i].frames;
		node_id node = path_of(u, inner, all ? inner->n : steps[i].frames,
				       all && outer != NO_NODE ? outer : top, steps[i].need);
		if (node)
			return node;
	}
	return top;
}

/* The frames that the node `at` stands for, further out; what they hang below. */
static node_id take_path(struct inner *inner, node_id at)
{
	while (at >= MTW_TRUNC_COUNT) {
		const struct node *n = mt_stacks_node(at);
		if (!fold_takes(inner, node_code(n)))
			return NO_NODE;
		at = node_parent(n);
	}
	return at;
}

MT_COLD node_id mt_unwind_fold_list(struct unwind_cache *u, const uintptr_t *pcs, int n,
				    node_id outer)
{
	struct inner inner = { .n = 0 };

	for (int i = 0; i < n; i++) {
		const struct call *call = unwind_pc(u, pcs[i]);
		if (!(call->shape & FRAME_OWN) && !fold_takes(&inner, call->code))
			return mt_unwind_fold(u, &inner, NO_NODE);
	}
	return mt_unwind_fold(u, &inner, take_path(&inner, outer));
}
