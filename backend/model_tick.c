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
 * It takes effect at once: staged counters become the slots', and what the touched nodes get is read together with
 * what they have (model_incl()) until it has been folded into them, which takes its time again.
 *
 * What is needed for a tick alone is freed after a large one. Rates are model_rate.c's.
 */
#include "model_priv.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define AT_ONCE 2000u /* changed slots, at most, that are not worth slices */
#define AHEAD 16u /* in memory */
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

/* Nodes and slots lie anywhere: what comes next is on its way from memory while this one is looked at. */
static void expect_node(const struct model *m, uint32_t index)
{
	const struct node *n = node_at(m, index);

	__builtin_prefetch(n, 1);
	__builtin_prefetch((const char *)(n + 1) - 1, 1);
}

static void expect_slot(const struct model *m, uint32_t index)
{
	const struct slot *s = slot_at(m, index);

	__builtin_prefetch(s, 1);
	__builtin_prefetch((const char *)(s + 1) - 1, 1);
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
		GROW(m->delta_moves, m->delta_moves_room, m->delta_count + 1);
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
		m->changes[m->change_count++] = (struct model_delta){ .node = d->index };
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

/* What was allocated more than a second ago is no rate any more. False: time is up. */
static bool expire_rates(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	size_t seen = 0;

	for (; j->expired < j->due; j->expired++) {
		if (!j->block && !j->entry)
			j->block = rates_batch(m, j->expired)->blocks;
		for (; j->block; j->block = j->block->next, j->entry = 0) {
			for (; j->entry < j->block->count; j->entry++) {
				const struct rate_entry *e = &j->block->entries[j->entry];
				if (time_is_up(seen++, end_ns))
					return false;
				add_rate(m, e->index, 0 - e->bytes, 0 - (uint64_t)e->blocks);
			}
		}
		j->entry = 0;
	}
	return true;
}

/* What a staged slot gives to its node; it is not written itself. */
static void take_slot(struct model *m, struct tick_job *j, struct staged *x)
{
	struct slot *s = slot_at(m, x->slot);
	uint32_t index = s->node;
	struct rate rate = { 0, 0 };

	if (x->now.alloc_blocks < s->now.alloc_blocks || x->now.alloc_bytes < s->now.alloc_bytes ||
	    x->now.free_blocks < s->now.free_blocks || x->now.free_bytes < s->now.free_bytes)
		x->now = s->now; /* staged while a newer one was being taken in, by a peer that breaks the contract */
	struct tally grown = tally_sub(&x->now, &s->now);
	if (j->has_batch && grown.alloc_blocks &&
	    !rates_enter(&j->batch, index, (double)grown.alloc_bytes * j->weight, (double)grown.alloc_blocks * j->weight, &rate))
		rate = (struct rate){ 0, 0 };
	if (!m->told)
		return;
	struct change before = slot_change(m, x->slot, &s->now), after = slot_change(m, x->slot, &x->now);
	struct change moved = change_sub(&after, &before);
	struct delta *d = delta_of(m, index);
	struct model_delta *own = own_of(m, d);
	if (slot_is_estimate(s, &x->now) && !node_at(m, index)->self_estimate)
		own->self_sampled = d->sampled = j->estimates = 1;
	tally_add(&own->self, &grown);
	tally_add(&d->incl, &grown);
	change_add(&own->self_change, &moved);
	if (moving(m))
		change_add(&m->delta_moves[node_at(m, index)->delta - 1], &moved);
	if (rate.bytes | rate.blocks)
		add_rate(m, index, rate.bytes, rate.blocks);
}

static bool take_slots(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	size_t seen = 0;

	for (; j->at < j->count; j->at++) {
		if (time_is_up(seen++, end_ns))
			return false;
		if (j->at + AHEAD < j->count)
			expect_slot(m, j->staged[j->at + AHEAD].slot);
		take_slot(m, j, &j->staged[j->at]);
	}
	return true;
}

/* From the deepest level up, on changed paths only: each difference is one of the parent, too. */
static bool walk_up(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	for (uint32_t seen = 0; m->delta_count && j->depth;) {
		if (!j->next)
			j->next = m->depth_head[j->depth - 1];
		while (j->next) {
			if (time_is_up(seen++, end_ns))
				return false;
			uint32_t i = j->next - 1;
			struct delta d = m->deltas[i]; /* what it is in may move */
			const struct node *n = node_at(m, d.index);
			j->next = d.next;
			if (j->next)
				expect_node(m, m->deltas[j->next - 1].index);
			if (n->parent == NO_ID)
				continue;
			struct delta *up = delta_of(m, n->parent);
			tally_add(&up->incl, &d.incl);
			up->rate.bytes += d.rate.bytes;
			up->rate.blocks += d.rate.blocks;
			up->sampled += d.sampled;
			if (moving(m))
				change_add(&m->delta_moves[up - m->deltas], &m->delta_moves[i]);
		}
		m->depth_head[--j->depth] = 0;
	}
	return true;
}

static void commit_slots(struct model *m, const struct tick_job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		if (i + AHEAD < j->count)
			expect_slot(m, j->staged[i + AHEAD].slot);
		slot_at(m, j->staged[i].slot)->now = j->staged[i].now;
	}
}

/* The nodes themselves get what was worked out for them. False: time is up. */
static bool fold(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	for (size_t seen = 0; j->folded < m->delta_count; j->folded++) {
		if (time_is_up(seen++, end_ns))
			return false;
		const struct delta *d = &m->deltas[j->folded];
		struct node *n = node_at(m, d->index);
		if (j->folded + AHEAD < m->delta_count)
			expect_node(m, d[AHEAD].index);
		n->delta = 0;
		if (n->sum != NO_ID) {
			tally_add(&sum_at(m, n->sum)->incl, &d->incl);
			sum_at(m, n->sum)->sampled += d->sampled;
		}
		if (d->rate.bytes | d->rate.blocks) {
			struct rate *r = rate_at(m, d->index);
			r->bytes += d->rate.bytes;
			r->blocks += d->rate.blocks;
		}
		if (moving(m))
			change_add(&m->moves[d->index], &m->delta_moves[j->folded]);
	}
	j->folding = false;
	return true;
}

/* All inclusive sums anew, from the slots. */
static void sum_all(struct model *m)
{
	for (size_t i = 0; i < m->delta_count; i++) {
		struct node *n = node_at(m, m->deltas[i].index);
		n->delta = 0;
		m->depth_head[n->depth] = 0;
	}
	sums_make(m);
	rates_sum_all(m);
	if (moving(m))
		interval_sum_moves(m);
}

/* For an array that is empty: what is not used of it is not touched. To grow it by and by takes longest in a slice. */
#define MAKE_ROOM(ptr, have, need)                                                                 \
	do {                                                                                       \
		if ((have) < (need)) {                                                             \
			free(ptr);                                                                 \
			(ptr) = xmalloc((need) * sizeof *(ptr));                                   \
			(have) = (need);                                                           \
		}                                                                                  \
	} while (0)

/* What the tick brings, and how it will be taken in. */
static void begin(struct model *m, uint64_t time_ns, uint32_t flags)
{
	struct tick_job *j = &m->job;
	size_t expiring;
	struct staged *staged = j->staged;
	size_t room = j->room;

	j->busy = true;
	j->waits = j->no_interval = false;
	j->time_ns = time_ns > m->time_ns ? time_ns : m->time_ns;
	j->flags = flags;
	j->has_totals = m->totals_pending;
	j->totals = m->totals_staged;
	m->totals_pending = false;
	j->staged = m->staged;
	j->room = m->staged_room;
	j->count = m->staged_count;
	m->staged = staged;
	m->staged_room = room;
	m->staged_count = 0;
	for (size_t i = 0; i < j->count; i++)
		slot_at(m, j->staged[i].slot)->staged = 0;
	j->has_batch = rates_begin(m, j->time_ns, j->count, &j->batch, &j->weight);
	j->due = rates_due(m, j->time_ns, &expiring);
	bool whole = m->complete && !m->resuming;
	j->all = j->count + expiring > m->node_count / 8 + 1024 && !(m->sliced && whole);
	m->told = !j->all || whole;
	if (m->told) {
		MAKE_ROOM(m->changes, m->change_room, j->count + expiring);
		MAKE_ROOM(m->deltas, m->delta_room, j->count + expiring);
	}
	j->expired = m->told ? 0 : j->due;
	j->block = NULL;
	j->at = j->entry = j->next = 0;
	j->depth = SIZE_MAX;
	j->estimates = false;
}

/* Works it out, in slices. True: it is whole, and can be shown. */
static bool work_out(struct model *m, uint64_t end_ns)
{
	struct tick_job *j = &m->job;

	if (!expire_rates(m, j, end_ns) || !take_slots(m, j, end_ns))
		return false;
	if (j->all)
		return true;
	if (j->depth == SIZE_MAX)
		j->depth = m->delta_count ? m->depth_max + 1 : 0;
	return walk_up(m, j, end_ns);
}

/* Frees an array that is larger than what the tick needed: one late tick is followed by many that are not. */
#define TRIM(ptr, have, used)                                                                      \
	do {                                                                                       \
		if ((have) > KEPT && (have) - (have) / 3 > (used)) {                                        \
			free(ptr);                                                                 \
			(ptr) = NULL;                                                              \
			(have) = 0;                                                                \
		}                                                                                  \
	} while (0)

static void trim(struct model *m)
{
	if (!m->staged_count) /* else it waits for the next tick */
		TRIM(m->staged, m->staged_room, m->job.count);
	TRIM(m->job.staged, m->job.room, m->job.count);
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

/* The interval went while changes were counted in it. */
static void count_from_start(struct model *m)
{
	for (size_t i = 0; i < m->change_count; i++) {
		struct model_delta *d = &m->changes[i];
		d->self_change = (struct change){ .born_blocks = live_blocks(&d->self), .born_bytes = live_bytes(&d->self) };
	}
}

/* From now on it is what is there. */
static void take_effect(struct model *m)
{
	struct tick_job *j = &m->job;

	if (m->moves)
		GROW(m->moves, m->moves_room, m->node_count);
	commit_slots(m, j);
	for (size_t i = 0; i < j->due; i++)
		rates_drop(m);
	if (j->has_batch)
		rates_push(m, &j->batch);
	j->folding = !j->all;
	j->folded = 0;
	if (j->all)
		sum_all(m);
	for (size_t i = 0; j->estimates && i < m->change_count; i++)
		node_at(m, m->changes[i].node)->self_estimate |= m->changes[i].self_sampled & 1;
	m->time_ns = j->time_ns;
	if (m->resuming)
		series_join(&m->series, &m->series_coming);
	if (j->has_totals) {
		m->totals = j->totals;
		remember(m);
	}
	m->ticks++;
	if (m->resuming)
		be_resumed(m, j->flags & MTW_TICK_COMPLETE);
	m->tick_complete = j->flags & MTW_TICK_COMPLETE;
	m->complete |= m->tick_complete;
	if (j->flags & MTW_TICK_FINAL)
		m->final = true;
	if (j->no_interval)
		count_from_start(m);
	GROW(m->changes, m->change_room, 1); /* no list says that anything may have changed */
	model_notify(m, m->told ? m->changes : NULL, m->change_count);
}

static void finish(struct model *m)
{
	m->job.busy = false;
	rates_rest(m);
	trim(m);
	interval_resume(m);
}

static bool tick_go_on(struct model *m, uint64_t end_ns)
{
	struct tick_job *j = &m->job;

	if (!j->folding) {
		if (!work_out(m, end_ns))
			return false;
		take_effect(m);
	}
	if (j->folding && !fold(m, j, end_ns))
		return false;
	finish(m);
	return true;
}

bool model_go_on(struct model *m, uint64_t end_ns)
{
	while (model_busy(m)) {
		if (m->job.busy) {
			if (!tick_go_on(m, end_ns))
				return false;
		} else if (m->interval.busy) {
			if (!interval_go_on(m, end_ns))
				return false;
		} else {
			begin(m, m->job.wait_ns, m->job.wait_flags);
		}
	}
	return true;
}

void tick_settle(struct model *m)
{
	model_go_on(m, UINT64_MAX);
}

bool model_busy(const struct model *m)
{
	return m->job.busy || m->interval.busy || m->job.waits;
}

void model_set_sliced(struct model *m, bool on)
{
	if (!on)
		tick_settle(m);
	m->sliced = on;
}

void tick_apply(struct model *m, uint64_t time_ns, uint32_t flags)
{
	bool by_and_by = m->sliced && m->complete && !m->resuming && !(flags & MTW_TICK_FINAL);

	if (m->resuming && !(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	if (model_busy(m) && by_and_by) {
		m->job.waits = true;
		m->job.wait_ns = time_ns;
		m->job.wait_flags = flags;
		return;
	}
	tick_settle(m);
	begin(m, time_ns, flags);
	if (!by_and_by || m->job.count <= AT_ONCE)
		tick_settle(m);
}

void tick_clear(struct model *m)
{
	m->staged_count = m->delta_count = m->change_count = m->depth_max = 0;
	if (m->depth_room)
		memset(m->depth_head, 0, m->depth_room * sizeof *m->depth_head);
	rates_forget(&m->job.batch);
	m->job.busy = m->job.folding = m->job.waits = false;
	m->job.count = 0;
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
