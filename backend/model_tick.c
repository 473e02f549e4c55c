/* SPDX-License-Identifier: MIT
 *
 * model_tick.c - what a tick does: staged counters become current, and every inclusive sum follows.
 *
 * Each changed slot's difference is added to its node; then the touched nodes are walked from the
 * deepest level up, each giving its sum to its parent. So a node that a thousand changed slots
 * share is touched once. The cost is that of the union of the changed paths; when these are a good
 * part of all (a first state), one pass over all nodes is cheaper and does the same. Nobody is told
 * what that pass changed while a first state comes: it was all, and a list of all is larger than all.
 *
 * What is needed for a tick alone is freed after a large one. Rates are model_rate.c's.
 */
#include "model_priv.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define KEPT 16384u /* elements; what is larger is kept as long as it is used */

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err)
{
	uint32_t index = idmap_get(&m->slot_ids, slot);

	if (index == NO_ID)
		return err_set(err, 3, "stream: counters of slot %u, which was never named; connect again", slot);
	struct slot *s = slot_at(m, index);
	const struct tally *old = s->staged ? &m->staged[s->staged - 1].now : &s->now;
	if (now->alloc_blocks < old->alloc_blocks || now->alloc_bytes < old->alloc_bytes ||
	    now->free_blocks < old->free_blocks || now->free_bytes < old->free_bytes)
		return err_set(err, 3, "stream: counters of slot %u shrink; connect again", slot);
	if (now->free_blocks > now->alloc_blocks || now->free_bytes > now->alloc_bytes)
		return err_set(err, 3, "stream: slot %u freed more than it allocated; connect again", slot);
	if (s->staged) {
		m->staged[s->staged - 1].now = *now;
		return 0;
	}
	GROW(m->staged, m->staged_room, m->staged_count + 1);
	m->staged[m->staged_count++] = (struct staged){ index, *now };
	s->staged = (uint32_t)m->staged_count;
	return 0;
}

/* Are inclusive changes kept, and do they move? */
static bool moving(const struct model *m)
{
	return m->moves && !m->until; /* between two marks nothing moves any more */
}

static struct delta *delta_of(struct model *m, uint32_t index)
{
	struct node *n = node_at(m, index);

	if (n->delta)
		return &m->deltas[n->delta - 1];
	GROW(m->deltas, m->delta_room, m->delta_count + 1);
	GROW(m->depth_head, m->depth_room, (size_t)n->depth + 1);
	if (moving(m)) {
		GROW(m->delta_moves, m->delta_moves_room, m->delta_room);
		m->delta_moves[m->delta_count] = (struct change){ 0 };
	}
	struct delta *d = &m->deltas[m->delta_count++];
	*d = (struct delta){ .index = index, .next = m->depth_head[n->depth] };
	n->delta = m->depth_head[n->depth] = (uint32_t)m->delta_count;
	if (n->depth > m->depth_max)
		m->depth_max = n->depth;
	return d;
}

/* The node's own values move: what observers see. */
static struct model_delta *own_of(struct model *m, struct delta *d)
{
	if (!d->own) {
		GROW(m->changes, m->change_room, m->change_count + 1);
		m->changes[m->change_count++] = (struct model_delta){ .node = node_at(m, d->index)->id };
		d->own = (uint32_t)m->change_count;
	}
	return &m->changes[d->own - 1];
}

static void add_rate(struct model *m, uint32_t index, uint64_t bytes, uint64_t blocks)
{
	struct delta *d = delta_of(m, index);
	struct model_delta *own = own_of(m, d);

	d->rate.bytes += bytes;
	d->rate.blocks += blocks;
	own->self_rate_bytes += bytes;
	own->self_rate_blocks += blocks;
}

static bool is_estimate(const struct slot *s)
{
	return s->sampled && (s->now.alloc_blocks | s->now.alloc_bytes);
}

/* listed: somebody needs to know, to sum up or to tell. */
static void take_staged(struct model *m, struct rate_batch *batch, double weight, bool listed)
{
	for (size_t i = 0; i < m->staged_count; i++) {
		uint32_t slot = m->staged[i].slot;
		struct slot *s = slot_at(m, slot);
		uint32_t index = idmap_get(&m->node_ids, s->node);
		struct change before = slot_change(m, slot);
		struct tally grown = tally_sub(&m->staged[i].now, &s->now);
		struct rate rate = { 0, 0 };
		s->now = m->staged[i].now;
		s->staged = 0;
		if (batch && grown.alloc_blocks &&
		    !rates_enter(batch, index, (double)grown.alloc_bytes * weight, (double)grown.alloc_blocks * weight, &rate))
			rate = (struct rate){ 0, 0 };
		if (!listed)
			continue;
		struct change after = slot_change(m, slot), moved = change_sub(&after, &before);
		struct delta *d = delta_of(m, index);
		struct model_delta *own = own_of(m, d);
		if (is_estimate(s) && !node_at(m, index)->self_estimate)
			own->self_sampled = d->sampled = 1;
		tally_add(&own->self, &grown);
		tally_add(&d->incl, &grown);
		change_add(&own->self_change, &moved);
		if (moving(m))
			change_add(&m->delta_moves[node_at(m, index)->delta - 1], &moved);
		if (rate.bytes | rate.blocks)
			add_rate(m, index, rate.bytes, rate.blocks);
	}
	m->staged_count = 0;
}

static void expire_rates(struct model *m, uint64_t now, bool listed)
{
	const struct rate_batch *b;

	while ((b = rates_due(m, now))) {
		for (const struct rate_block *k = listed ? b->blocks : NULL; k; k = k->next)
			for (uint32_t i = 0; i < k->count; i++)
				add_rate(m, k->entries[i].index, 0 - k->entries[i].bytes,
					 0 - (uint64_t)k->entries[i].blocks);
		rates_drop(m);
	}
}

/* From the deepest level up, nodes on changed paths only. */
static void walk_up(struct model *m)
{
	static const struct change nothing;

	for (size_t depth = m->depth_max + 1; m->delta_count && depth-- > 0;) {
		for (uint32_t i = m->depth_head[depth]; i;) {
			struct delta d = m->deltas[i - 1]; /* what it is in may move */
			struct change moved = moving(m) ? m->delta_moves[i - 1] : nothing;
			struct node *n = node_at(m, d.index);
			i = d.next;
			n->delta = 0;
			if (d.own)
				n->self_estimate |= m->changes[d.own - 1].self_sampled & 1;
			tally_add(&n->incl, &d.incl);
			n->sampled += d.sampled;
			if (d.rate.bytes | d.rate.blocks) {
				struct rate *r = rate_at(m, d.index);
				r->bytes += d.rate.bytes;
				r->blocks += d.rate.blocks;
			}
			if (moving(m))
				change_add(&m->moves[d.index], &moved);
			if (n->parent == NO_ID)
				continue;
			struct delta *up = delta_of(m, idmap_get(&m->node_ids, n->parent));
			tally_add(&up->incl, &d.incl);
			up->rate.bytes += d.rate.bytes;
			up->rate.blocks += d.rate.blocks;
			up->sampled += d.sampled;
			if (moving(m))
				change_add(&m->delta_moves[up - m->deltas], &moved);
		}
		m->depth_head[depth] = 0;
	}
}

/* All inclusive sums anew, from the slots: children come after their parents, so backwards is bottom-up. */
static void sum_all(struct model *m)
{
	for (size_t i = 0; i < m->delta_count; i++) {
		struct node *n = node_at(m, m->deltas[i].index);
		n->delta = 0;
		m->depth_head[n->depth] = 0;
	}
	for (uint32_t i = 0; i < m->node_count; i++) {
		node_at(m, i)->incl = (struct tally){ 0 };
		node_at(m, i)->sampled = 0;
	}
	for (uint32_t i = 0; i < m->slot_count; i++) {
		const struct slot *s = slot_at(m, i);
		struct node *n = node_by_id(m, s->node);
		tally_add(&n->incl, &s->now);
		n->self_estimate |= is_estimate(s);
	}
	for (uint32_t i = m->node_count; i-- > 0;) {
		struct node *n = node_at(m, i), *up = n->parent == NO_ID ? NULL : node_by_id(m, n->parent);
		n->sampled += n->self_estimate;
		if (!up)
			continue;
		tally_add(&up->incl, &n->incl);
		up->sampled += n->sampled;
	}
	rates_sum_all(m);
	if (moving(m))
		marks_sum_moves(m);
}

static void take_in(struct model *m, uint64_t now)
{
	double weight = 0;
	bool all = m->staged_count + rates_due_count(m, now) > m->node_count / 8 + 1024;

	m->told = !all || (m->complete && !m->resuming);
	if (m->moves)
		GROW(m->moves, m->moves_room, m->node_count);
	expire_rates(m, now, m->told);
	struct rate_batch *batch = rates_begin(m, now, &weight);
	take_staged(m, batch, weight, m->told);
	if (all)
		sum_all(m);
	else
		walk_up(m);
	rates_rest(m);
	GROW(m->changes, m->change_room, 1); /* no list says that anything may have changed */
}

/* Frees an array that is much larger than what the tick needed. */
#define TRIM(ptr, have, used)                                                                      \
	do {                                                                                       \
		if ((have) > KEPT && (have) / 4 > (used)) {                                        \
			free(ptr);                                                                 \
			(ptr) = NULL;                                                              \
			(have) = 0;                                                                \
		}                                                                                  \
	} while (0)

static void trim(struct model *m, size_t staged)
{
	TRIM(m->staged, m->staged_room, staged);
	TRIM(m->delta_moves, m->delta_moves_room, moving(m) ? m->delta_count : 0);
	TRIM(m->deltas, m->delta_room, m->delta_count);
	TRIM(m->changes, m->change_room, m->change_count);
	m->delta_count = m->change_count = m->depth_max = 0;
}

static void remember(struct model *m)
{
	size_t room = sizeof m->ring / sizeof m->ring[0];

	if (m->ring_count == room) {
		m->ring_first = (m->ring_first + 1) % room;
		m->ring_count--;
	}
	size_t at = (m->ring_first + m->ring_count++) % room;
	m->ring[at].time_ns = m->time_ns;
	m->ring[at].sum = m->totals.sum;
	struct point p = { m->time_ns, live_bytes(&m->totals.sum), live_blocks(&m->totals.sum),
			   m->totals.sum.alloc_bytes, m->totals.sum.alloc_blocks,
			   m->totals.sum.free_blocks, m->rss };
	series_tick(&m->series, &p);
}

/* What came since the second greeting is what there is now; not whole: the program ended meanwhile. */
static void be_resumed(struct model *m, bool whole)
{
	m->resuming = false;
	m->complete = whole;
	marks_arrive(m);
}

void tick_apply(struct model *m, uint64_t time_ns, uint32_t flags)
{
	size_t staged = m->staged_count;

	if (m->resuming && !(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	take_in(m, time_ns);
	m->time_ns = time_ns;
	if (m->resuming)
		series_join(&m->series, &m->series_coming);
	if (m->totals_pending) {
		m->totals = m->totals_staged;
		m->totals_pending = false;
		remember(m);
	}
	m->ticks++;
	if (m->resuming)
		be_resumed(m, flags & MTW_TICK_COMPLETE);
	m->tick_complete = flags & MTW_TICK_COMPLETE;
	m->complete |= m->tick_complete;
	if (flags & MTW_TICK_FINAL)
		m->final = true;
	model_notify(m, m->told ? m->changes : NULL, m->change_count);
	trim(m, staged);
	if ((m->base_wanted != m->base || m->until_wanted != m->until) && m->complete)
		marks_rebase(m);
}

void tick_clear(struct model *m)
{
	m->staged_count = m->delta_count = m->change_count = m->depth_max = 0;
	rates_clear(m);
	m->ring_first = m->ring_count = 0;
	m->totals_pending = false;
}

static struct rates rates_over(const struct model *m, uint64_t window)
{
	size_t room = sizeof m->ring / sizeof m->ring[0];

	if (m->ring_count < 2)
		return (struct rates){ 0 };
	size_t last = (m->ring_first + m->ring_count - 1) % room, from = m->ring_first;
	for (size_t i = m->ring_count - 1; i-- > 0;) {
		from = (m->ring_first + i) % room;
		if (m->ring[last].time_ns - m->ring[from].time_ns >= window)
			break;
	}
	double s = (double)(m->ring[last].time_ns - m->ring[from].time_ns) / 1e9;
	if (s <= 0)
		return (struct rates){ 0 };
	struct tally d = tally_sub(&m->ring[last].sum, &m->ring[from].sum);
	return (struct rates){ (double)d.alloc_bytes / s, (double)d.alloc_blocks / s,
			       (double)d.free_bytes / s, (double)d.free_blocks / s };
}

void model_rates(const struct model *m, struct rates *one, struct rates *ten)
{
	/* A tick's length of slack, so that nine ticks and a bit do not make it eleven. */
	if (one)
		*one = rates_over(m, SECOND - SECOND / 20);
	if (ten)
		*ten = rates_over(m, 10 * SECOND - SECOND / 2);
}
