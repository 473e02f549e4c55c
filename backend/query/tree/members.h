/* SPDX-License-Identifier: MIT
 *
 * members.h - from a row's members to those of its children.
 */
#ifndef QUERY_TREE_MEMBERS_H
#define QUERY_TREE_MEMBERS_H

#include "query/state.h"

/* The call site of a stack, given its node. */
struct member member_site(const struct query *q, uint32_t leaf);
/* number of its function */
uint32_t member_fn(const struct query *q, const struct member *m);
typedef bool (*step_fn)(struct query *q, void *arg, const struct member *m); /* false: enough */
bool member_steps(struct query *q, const struct trow *r, const struct member *m, step_fn fn,
		  void *arg);
/* All members from the root, which has none, to `node` at its last frame in the tree's order, or
 * inverted from its call site to the root. Lent in q->path. */
size_t member_path(struct query *q, bool inverted, uint32_t node);
struct witness member_witness(const struct query *q, const struct member *m);
/* Number of frames of the node that have rows. */
uint32_t member_frames(const struct query *q, uint32_t node);
/* Is it the innermost frame of its node? */
static inline bool member_innermost(const struct query *q, const struct member *m)
{
	return q->merged || m->frame == 0;
}

#endif
