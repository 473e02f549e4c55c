/* SPDX-License-Identifier: MIT
 *
 * members.c - from a row's members to those of its children.
 *
 * Top-down, a member steps from a frame to the next inner one: first through the inlined frames of
 * its node, then to each child node. Inverted, a member starts at a stack's call site
 * (owners/owner.h: allocation wrappers are left out) and steps outwards, and a row's value is what
 * its members' leaves allocated themselves. Where inlined frames are merged, a member steps only to
 * a node's outermost frame.
 */
#include "query/tree/members.h"

const struct name_loc *node_frames(struct query *q, uint32_t index)
{
	return names_loc(q->n, names_loc_of(q->n, index));
}

uint32_t member_fn(struct query *q, const struct member *m)
{
	const struct name_loc *l = node_frames(q, m->index);

	return l->frames[m->frame < l->count ? m->frame : l->count - 1].fn;
}

static bool step_down(struct query *q, const struct member *m, step_fn fn, void *arg)
{
	struct member to = { m->index, m->frame - 1, m->index };

	if (m->index && !member_innermost(q, m))
		return fn(q, arg, &to);
	uint32_t child = model_dense(q->m, m->index, NULL)->first_child;
	while (child != NO_ID) {
		to = (struct member){ child, node_frames(q, child)->count - 1, child };
		if (!fn(q, arg, &to))
			return false;
		child = model_dense(q->m, child, NULL)->next_sibling;
	}
	return true;
}

static void to_call_site(struct query *q, const struct member *m, struct member *to)
{
	uint32_t frame, index = owners_site_of_index(q->o, m->leaf, &frame),
			count = node_frames(q, index)->count;

	*to = (struct member){ index, q->merged ? count - 1 : frame < count ? frame : 0, m->leaf };
}

bool member_up(struct query *q, const struct member *m, struct member *to)
{
	if (m->frame == NO_ID) {
		to_call_site(q, m, to);
		return true;
	}
	*to = (struct member){ m->index, m->frame + 1, m->leaf };
	if (!q->merged && to->frame < node_frames(q, m->index)->count)
		return true;
	uint32_t parent = model_dense(q->m, m->index, NULL)->parent;
	*to = (struct member){ parent == NO_ID ? 0 : parent, 0, m->leaf };
	if (to->index && q->merged)
		to->frame = node_frames(q, to->index)->count - 1;
	return to->index != 0;
}

bool member_steps(struct query *q, const struct member *m, step_fn fn, void *arg)
{
	struct member to;

	if (!q->inverted)
		return step_down(q, m, fn, arg);
	return !member_up(q, m, &to) || fn(q, arg, &to);
}
