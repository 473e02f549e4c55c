/* SPDX-License-Identifier: MIT
 *
 * fold.h - the node of a stack that there is no room for as a whole.
 */
#ifndef MT_UNWIND_FOLD_H
#define MT_UNWIND_FOLD_H

#include "base/types.h"
#include "unwind/cache.h"

#pragma GCC visibility push(hidden)

#define FOLD_MOST 16u /* frames that a folded stack keeps */

/* A stack's inner frames, innermost first. */
struct inner {
	uint32_t n;
	code_id code[FOLD_MOST];
};

/* Adds the next frame outwards; false: it is one too many, or no location could be had for it. */
MT_INLINE bool fold_takes(struct inner *inner, code_id code)
{
	if (inner->n == FOLD_MOST || !code)
		return false;
	inner->code[inner->n++] = code;
	return true;
}

/* The node for a stack with these inner frames. `outer`: what they hang below if they are all of
 * it, otherwise NO_NODE. The thread's own cache. */
node_id mt_unwind_fold(struct unwind_cache *u, const struct inner *inner, node_id outer);
/* ... of a list of pcs, innermost first, below the node `outer`. */
node_id mt_unwind_fold_list(struct unwind_cache *u, const uintptr_t *pcs, int n, node_id outer);

#pragma GCC visibility pop

#endif
