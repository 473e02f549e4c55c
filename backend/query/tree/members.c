/* SPDX-License-Identifier: MIT
 *
 * members.c - from a row's members to those of its children.
 *
 * Top-down, a member steps from a frame to the next inner one: first through the inlined frames of
 * its node, then to each child node. Inverted, a member starts at a stack's call site
 * (heap/sites.h: allocation wrappers are left out) and steps outwards, and a row's value is what
 * its members' leaves allocated themselves. Where inlined frames are merged, a member steps only to
 * a node's outermost frame.
 */
#include "query/tree/members.h"

static uint32_t location_of(const struct query *q, uint32_t node)
{
	return q->raw->skeleton->location[node];
}

static uint32_t frames_of(const struct query *q, uint32_t node)
{
	return heap_frames(q->raw->names, location_of(q, node));
}

uint32_t member_frames(const struct query *q, uint32_t node)
{
	return q->merged ? 1 : frames_of(q, node);
}

uint32_t member_fn(const struct query *q, const struct member *m)
{
	const struct heap_names *n = q->raw->names;

	return n->frames[n->first[location_of(q, m->node)] + m->frame].function;
}

static struct member outermost(const struct query *q, uint32_t node, uint32_t leaf)
{
	return (struct member){ node, frames_of(q, node) - 1, leaf };
}

static bool step_down(struct query *q, const struct member *m, step_fn fn, void *arg)
{
	const struct skeleton *s = q->raw->skeleton;
	struct member to = { m->node, m->frame - 1, m->node };

	if (m->node && !member_innermost(q, m))
		return fn(q, arg, &to);
	for (uint32_t c = m->node + 1; c < s->end[m->node]; c = s->end[c]) {
		to = outermost(q, c, c);
		if (!fn(q, arg, &to))
			return false;
	}
	return true;
}

struct member member_site(const struct query *q, uint32_t leaf)
{
	uint32_t frame, node = heap_site_above(q->raw->skeleton, q->raw->names, leaf, &frame);

	if (q->merged)
		return outermost(q, node, leaf);
	return (struct member){ node, frame - q->raw->names->first[location_of(q, node)], leaf };
}

/* Outwards; false at the end. */
static bool step_up(const struct query *q, struct member *m)
{
	if (!q->merged && m->frame + 1 < frames_of(q, m->node)) {
		m->frame++;
		return true;
	}
	uint32_t parent = q->raw->skeleton->parent[m->node];
	if (!parent || parent == NO_ID)
		return false;
	*m = q->merged ? outermost(q, parent, m->leaf) : (struct member){ parent, 0, m->leaf };
	return true;
}

/* The root of the inverted tree has all stacks, and keeps no members. */
static bool each_stack(struct query *q, step_fn fn, void *arg)
{
	const struct skeleton *s = q->raw->skeleton;

	for (uint32_t k = 0; k < s->stacks; k++) {
		uint32_t leaf = s->node_of_stack[k];
		struct member to = leaf ? member_site(q, leaf) : (struct member){ 0 };

		if (leaf && !fn(q, arg, &to))
			return false;
	}
	return true;
}

bool member_steps(struct query *q, const struct trow *r, const struct member *m, step_fn fn,
		  void *arg)
{
	struct member to = *m;

	if (!r->inverted)
		return step_down(q, m, fn, arg);
	if (r->parent == NO_ID)
		return each_stack(q, fn, arg);
	return !step_up(q, &to) || fn(q, arg, &to);
}

static void put(struct query *q, size_t *count, struct member m)
{
	GROW(q->path, q->path_room, *count + 1);
	q->path[(*count)++] = m;
}

size_t member_path(struct query *q, bool inverted, uint32_t node)
{
	size_t count = 0;

	if (!node)
		return 0;
	if (inverted) {
		struct member at = member_site(q, node);
		do
			put(q, &count, at);
		while (step_up(q, &at));
		return count;
	}
	for (uint32_t n = node; n; n = q->raw->skeleton->parent[n])
		for (uint32_t i = 0, frames = frames_of(q, n); i < frames; i++)
			if (!q->merged || i + 1 == frames)
				put(q, &count, (struct member){ n, i, n });
	for (size_t i = 0; i < count / 2; i++) {
		struct member swap = q->path[i];
		q->path[i] = q->path[count - 1 - i];
		q->path[count - 1 - i] = swap;
	}
	return count;
}

struct witness member_witness(const struct query *q, const struct member *m)
{
	const struct skeleton *s = q->raw->skeleton;
	uint32_t frames = frames_of(q, m->node);

	return (struct witness){ .node = skeleton_arrival(s, m->node),
				 .leaf = skeleton_arrival(s, m->leaf),
				 .frame = frames - 1 - m->frame,
				 .all = q->merged || frames == 1 };
}
