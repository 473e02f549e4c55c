/* SPDX-License-Identifier: MIT
 *
 * members.h - from a row's members to those of its children.
 */
#ifndef QUERY_TREE_MEMBERS_H
#define QUERY_TREE_MEMBERS_H

#include "query/state.h"

const struct name_loc *node_frames(struct query *q, uint32_t index); /* of a node's location */
static inline uint32_t node_parent(const struct query *q, uint32_t index)
{
	return model_dense(q->m, index, NULL)->parent;
}
/* number of its function */
uint32_t member_fn(struct query *q, const struct member *m);
/* inverted: outwards; false at the end */
bool member_up(struct query *q, const struct member *m, struct member *to);
typedef bool (*step_fn)(struct query *q, void *arg, const struct member *m); /* false: enough */
bool member_steps(struct query *q, const struct member *m, step_fn fn, void *arg);
/* Is it the innermost frame of its node? */
static inline bool member_innermost(const struct query *q, const struct member *m)
{
	return q->merged || m->frame == 0;
}

#endif
