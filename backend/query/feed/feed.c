/* SPDX-License-Identifier: MIT
 *
 * feed.c - takes in the ticks and names that arrived since the last answer.
 *
 * Order matters: owners and names come first, and new nodes get their places before their values.
 * The filter reduces each difference to the part that passes, which rows and call sites then get.
 * Afterwards all kept values equal those made from scratch from the model.
 *
 * When very much arrives, rows do not wait for it (bulk): each tick sums them up again from the
 * model's sums, and call sites and lines catch up as time allows. With a filter, the changes move
 * the filter's sums first.
 */
#include "query/feed/feed.h"
#include "query/feed/follow.h"
#include "query/feed/rename.h"
#include "query/sites/ages.h"
#include "query/sites/lines.h"
#include "query/sites/sites.h"
#include "query/steps.h"
#include "query/tree/place.h"
#include "query/tree/tree.h"

#define AHEAD 16u     /* in what arrived */
#define BULK_STEPS 2u /* of a change to its call site alone */

/* The known remaining steps; a row grouped later is not included. */
static uint64_t steps_left(const struct query *q)
{
	const struct filter *f = &q->filter;
	const struct grouping *g = &q->grouping;
	uint32_t count = model_dense_count(q->m);
	uint64_t left =
		(sites_left(q) + lines_left(q)) / NODES_A_STEP +
		q->arrived.left * (q->bulk ? BULK_STEPS : FOLLOW_STEPS) +
		(q->renaming.count - q->renaming.at + q->moved_count - q->moved_at) * FOLLOW_STEPS;

	if (filter_on(q) && !f->whole)
		left += (f->summing ? f->left : 2 * (uint64_t)count - f->count) / NODES_A_STEP;
	if (q->inverted && q->up_at < count)
		left += (count - q->up_at) / NODES_A_STEP;
	if (g->row && !q->rows[g->row]->gone && g->at < q->rows[g->row]->member_count)
		left += q->rows[g->row]->member_count - g->at;
	left += ages_left(q);
	if (q->search.running)
		left += names_loc_count(q->n) - q->search.loc;
	return left;
}

int query_building(const struct query *q)
{
	if (!q->unfinished)
		return -1;
	uint64_t left = steps_left(q), all = q->steps + left;
	return all ? (int)(q->steps * 100 / (all + 1)) : 0;
}

/* Is it cheaper to sum up the requested rows again, from the nodes' sums, than to walk down to
 * each changed stack? Rows of the inverted tree have too many members. */
static bool worth_bulk(const struct query *q)
{
	size_t most = q->arrived.left * FOLLOW_STEPS, cost = 0;

	if (q->inverted)
		return false;
	for (size_t i = 1; i < q->row_count && cost < most; i++)
		cost += 1 + (q->rows[i]->valued == q->stamp ? q->rows[i]->member_count : 0);
	return cost < most;
}

static void follow_moved(struct query *q)
{
	static const struct amounts nothing;

	for (; q->moved_at < q->moved_count; q->moved_at++) {
		if (!take_step(q))
			return;
		spend_steps(q, FOLLOW_STEPS);
		if (filter_on(q)) /* its owner may have been asked for */
			feed_follow(q, q->moved[q->moved_at], &nothing);
		sites_move(q, q->moved[q->moved_at]);
	}
	q->moved_at = q->moved_count = 0;
}

/* All values of rows and call sites now cover other stacks. */
static void start_over(struct query *q)
{
	q->stamp++;
	q->passing++;
	for (const struct model_delta *d; (d = arrivals_first(&q->arrived));
	     arrivals_taken(&q->arrived))
		if (d->node)                     /* the root is no stack */
			place_stack(q, d->node); /* those that are new stay known */
	if (q->stale)
		q->up_at = 1;
	q->stale = q->filter_stale = q->reowned = q->moved_all = false;
	q->moved_at = q->moved_count = 0;
	rename_forget(q);
	q->bulk = false;
	place_nodes(q);
	filter_start(q);
	sites_stale(q, false);
	lines_stale(q);
}

static void stamp(struct query *q)
{
	q->stamp++;
	q->stamp_ticks = q->seen_ticks;
}

/* Prefetches: stacks and call sites lie anywhere in memory. */
static void expect(const struct query *q)
{
	const struct model_delta *far = arrivals_ahead(&q->arrived, AHEAD),
				 *near = arrivals_ahead(&q->arrived, AHEAD / 2);

	if (far) {
		model_expect(q->m, far);
		sites_expect(q, far->node, false);
	}
	if (near)
		sites_expect(q, near->node, true);
}

static void drain(struct query *q)
{
	for (const struct model_delta *d; (d = arrivals_first(&q->arrived));
	     arrivals_taken(&q->arrived)) {
		if (!take_step(q))
			return;
		spend_steps(q, q->bulk ? BULK_STEPS : FOLLOW_STEPS);
		expect(q);
		if (d->node)
			feed_follow(q, d->node,
				    &(struct amounts){ d->self, d->self_change, d->self_rate,
						       .sampled = d->self_sampled });
	}
	if (q->bulk && (filter_on(q) || q->stamp_ticks != q->seen_ticks))
		stamp(q); /* its sums moved, or the model's */
	q->bulk = false;
	if (q->moved_all)
		sites_stale(q, true);
	q->moved_all = false;
	follow_moved(q);
}

/* Must all arrivals be taken in before rows are summed up? The model's own sums include them
 * already. */
static bool rows_wait(const struct query *q)
{
	return !q->bulk || q->inverted || filter_on(q);
}

/* Rows whose sums take longer than a tick are completed first. */
static bool sum_again(const struct query *q)
{
	return q->stamp_ticks != q->seen_ticks && (!q->filling || q->allowed == SIZE_MAX);
}

static void take_in(struct query *q)
{
	/* Sums that are being made are made to their end first. */
	q->reowned |= q->moved_all && filter_on(q);
	if (q->stale || q->filter_stale || (q->reowned && q->filter.whole)) {
		start_over(q);
		return;
	}
	place_nodes(q);
	filter_add_nodes(q);
	if (!rename_apply(q))
		return;
	if (q->bulk ? sum_again(q) : worth_bulk(q)) {
		q->bulk = true;
		stamp(q);
	}
	if (rows_wait(q))
		drain(q);
}

/* Continues the walks over all stacks. */
static bool build(struct query *q)
{
	bool was_whole = q->filter.whole;

	filter_tidy(q);
	if (q->renaming.count || (q->arrived.left && rows_wait(q)) ||
	    (filter_on(q) && !q->filter.whole && !filter_make(q)))
		return false;
	if (filter_on(q) && !was_whole) {
		q->stamp++;
		q->passing++;
	}
	return !q->inverted || place_stacks(q);
}

static bool one_step(void *query)
{
	return take_step(query);
}

void query_owners(struct query *q)
{
	owners_in_slices(q->o, q->allowed != SIZE_MAX);
	owners_refresh(q->o);
	owners_make(q->o, one_step, q);
}

bool feed_tree(struct query *q)
{
	query_owners(q);
	if (q->resets != model_resets(q->m)) {
		ages_forget(q); /* of rows that go */
		tree_clear(q);
		q->resets = model_resets(q->m);
		q->stale = true;
	}
	bool renamed = q->seen_names != names_version(q->n);
	if (q->filter.by_cohort && q->filter.cohort_scan != model_cohort_scans(q->m) &&
	    q->filter.whole)
		q->filter_stale = true;
	if (q->stale || q->filter_stale || renamed || (q->reowned && q->filter.whole) ||
	    q->renaming.count || q->arrived.left || q->moved_count || q->moved_all ||
	    q->seen_ticks != model_ticks(q->m) || q->down_count != model_dense_count(q->m)) {
		q->seen_ticks = model_ticks(q->m);
		q->seen_names = names_version(q->n);
		q->changes++;
		take_in(q);
	}
	return build(q);
}

bool feed_stacks(struct query *q)
{
	if (!feed_tree(q))
		return false;
	if (q->bulk)
		drain(q);
	return !q->arrived.left;
}

struct site_table *feed_sites(struct query *q)
{
	return sites_update(q, feed_stacks(q));
}
