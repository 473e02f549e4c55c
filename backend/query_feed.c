/* SPDX-License-Identifier: MIT
 *
 * query_feed.c - takes in what ticks and names brought since the last answer.
 *
 * Order matters: owners and names first; new nodes get their places before values reach these; the
 * filter turns a difference into the difference of what passes, which rows and call sites then get.
 * After it, all that is kept is as if made anew from the model.
 */
#include "query_priv.h"

/* Something arrived at a stack: add it wherever the stack is counted. */
static void follow(struct query *q, uint32_t index, const struct value *raw)
{
	struct value passed = *raw;

	if (filter_on(q) && !filter_follow(q, index, &passed))
		passed = (struct value){ 0 };
	sites_add_value(q, index, raw, &passed);
	tree_add_value(q, index, &passed);
}

static void follow_moved(struct query *q)
{
	static const struct value nothing;

	for (size_t i = 0; i < q->moved_count; i++) {
		if (filter_on(q)) /* its owner may have been asked for */
			follow(q, q->moved[i], &nothing);
		sites_move(q, q->moved[i]);
	}
	q->moved_count = 0;
}

static void make_anew(struct query *q)
{
	q->stale = q->moved_all = false;
	q->arrived_count = q->moved_count = 0;
	q->stamp++;
	tree_add_nodes(q, true);
	if (filter_on(q))
		filter_make(q);
	sites_stale(q);
}

void tree_refresh(struct query *q)
{
	owners_refresh(q->o);
	if (q->resets != model_resets(q->m)) {
		tree_clear(q);
		q->resets = model_resets(q->m);
		q->stale = true;
	}
	uint64_t names = names_version(q->n);
	bool renamed = names != q->seen_names;
	if (!q->stale && !renamed && !q->arrived_count && !q->moved_count && !q->moved_all &&
	    q->seen_ticks == model_ticks(q->m) && q->down_count == model_dense_count(q->m))
		return;
	q->seen_ticks = model_ticks(q->m);
	q->seen_names = names;
	q->changes++;
	/* What words match follows names. */
	if (q->stale || ((renamed || q->moved_all) && filter_on(q))) {
		make_anew(q);
		return;
	}
	tree_add_nodes(q, false);
	filter_add_nodes(q);
	for (size_t i = 0; i < q->arrived_count; i++)
		follow(q, q->arrived[i].index, &q->arrived[i].self);
	q->arrived_count = 0;
	if (q->moved_all)
		sites_stale(q);
	q->moved_all = false;
	follow_moved(q);
}
