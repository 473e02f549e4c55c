/* SPDX-License-Identifier: MIT
 *
 * model_tick.c - what a tick does: staged counters become current, and every inclusive sum follows.
 *
 * Each changed slot's difference is added to its node; then the touched nodes are walked from the
 * deepest level up, each giving its sum to its parent. So a node that a thousand changed slots
 * share is touched once. The cost is that of the union of the changed paths; when these are a good
 * part of all (a first state), one pass over all nodes is cheaper and does the same.
 *
 * Rates are sums of the last second's differences, on the same walk: a tick's share is added
 * when it comes and taken back a second later. Ticks that are longer than a second (slow links) count
 * in proportion. Nothing counts as a rate before a link's first complete state: that is history.
 */
#include "model_priv.h"

#include <stdlib.h>

#define SECOND 1000000000ull

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err)
{
	uint32_t index = idmap_get(&m->slot_ids, slot);

	if (index == NO_ID)
		return err_set(err, 3, "stream: counters of slot %u, which was never named; connect again", slot);
	struct vslot *s = slot_at(m, index);
	const struct tally *old = s->staged ? &m->staged[s->staged - 1].now : &s->s.now;
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

static struct delta *delta_of(struct model *m, uint32_t index)
{
	struct vnode *v = node_at(m, index);

	if (v->delta)
		return &m->deltas[v->delta - 1];
	GROW(m->deltas, m->delta_room, m->delta_count + 1);
	GROW(m->depth_head, m->depth_room, (size_t)v->depth + 1);
	struct delta *d = &m->deltas[m->delta_count++];
	*d = (struct delta){ .d.node = v->id, .index = index, .next = m->depth_head[v->depth] };
	v->delta = m->depth_head[v->depth] = (uint32_t)m->delta_count;
	if (v->depth > m->depth_max)
		m->depth_max = v->depth;
	return d;
}

static void rate_add(struct delta *d, uint64_t bytes, uint64_t blocks)
{
	d->rate_bytes += bytes;
	d->rate_blocks += blocks;
	d->d.self_rate_bytes += bytes;
	d->d.self_rate_blocks += blocks;
	d->own = true;
}

static void take_staged(struct model *m, struct rate_batch *batch, double weight)
{
	for (size_t i = 0; i < m->staged_count; i++) {
		struct vslot *s = slot_at(m, m->staged[i].slot);
		struct change before = slot_change(&s->s);
		struct tally grown = tally_sub(&m->staged[i].now, &s->s.now);
		s->s.now = m->staged[i].now;
		s->staged = 0;
		struct change after = slot_change(&s->s);
		struct change moved = { 0 };
		if (!m->until) /* between two marks nothing moves any more */
			moved = change_sub(&after, &before);
		uint32_t index = idmap_get(&m->node_ids, s->s.node);
		struct delta *d = delta_of(m, index);
		d->own = true;
		bool counted = s->s.now.alloc_blocks | s->s.now.alloc_bytes;
		if (s->s.sample && counted && !node_at(m, index)->n.self_estimate)
			d->d.self_sampled = d->sampled = 1;
		tally_add(&d->d.self, &grown);
		tally_add(&d->incl, &grown);
		change_add(&d->d.self_change, &moved);
		change_add(&d->incl_change, &moved);
		if (!batch || !grown.alloc_blocks || grown.alloc_bytes >> 62 || grown.alloc_blocks >> 62)
			continue;
		GROW(batch->entries, batch->room, batch->count + 1);
		struct rate_entry *r = &batch->entries[batch->count++];
		*r = (struct rate_entry){ index, (uint64_t)((double)grown.alloc_bytes * weight),
					  (uint64_t)((double)grown.alloc_blocks * weight) };
		rate_add(d, r->bytes, r->blocks);
	}
	m->staged_count = 0;
}

static void expire_rates(struct model *m, uint64_t now)
{
	while (m->batch_count) {
		struct rate_batch *b = &m->batches[m->batch_first];
		/* A full ring expires early: short ticks then have a shorter second. */
		if (b->expire_ns > now && m->batch_count < RATE_TICKS)
			break;
		for (size_t i = 0; i < b->count; i++) {
			struct delta *d = delta_of(m, b->entries[i].index);
			rate_add(d, 0 - b->entries[i].bytes, 0 - b->entries[i].blocks);
		}
		b->count = 0;
		m->batch_first = (m->batch_first + 1) % RATE_TICKS;
		m->batch_count--;
	}
}

/* A batch for this tick, or NULL when nothing that came is a rate. */
static struct rate_batch *new_batch(struct model *m, uint64_t now, double *weight)
{
	uint64_t length = now - m->time_ns;

	if (!m->complete || m->resuming || !length || !m->staged_count)
		return NULL;
	uint64_t per_second = (SECOND + length / 2) / length;
	if (per_second < 1)
		per_second = 1;
	if (per_second > RATE_TICKS - 1)
		per_second = RATE_TICKS - 1;
	struct rate_batch *b = &m->batches[(m->batch_first + m->batch_count++) % RATE_TICKS];
	*weight = (double)SECOND / ((double)per_second * (double)length);
	uint64_t life = length > UINT64_MAX / RATE_TICKS ? 0 : per_second * length - length / 2;
	b->expire_ns = now > UINT64_MAX - life ? UINT64_MAX : now + life;
	return b;
}

static void take_self(struct node *n, const struct model_delta *d)
{
	tally_add(&n->self, &d->self);
	change_add(&n->self_change, &d->self_change);
	n->self_rate_bytes += d->self_rate_bytes;
	n->self_rate_blocks += d->self_rate_blocks;
	n->self_estimate |= d->self_sampled;
}

/* From the deepest level up, nodes on changed paths only. */
static void walk_up(struct model *m, uint64_t now)
{
	for (size_t depth = m->depth_max + 1; m->delta_count && depth-- > 0;) {
		for (uint32_t i = m->depth_head[depth]; i;) {
			struct delta d = m->deltas[i - 1]; /* what it is in may move */
			struct vnode *v = node_at(m, d.index);
			i = d.next;
			v->delta = 0;
			if (d.own)
				take_self(&v->n, &d.d);
			tally_add(&v->n.incl, &d.incl);
			change_add(&v->n.incl_change, &d.incl_change);
			v->n.rate_bytes += d.rate_bytes;
			v->n.rate_blocks += d.rate_blocks;
			v->n.sampled += d.sampled;
			v->n.changed_ns = now;
			if (v->n.parent == NO_ID)
				continue;
			struct delta *up = delta_of(m, idmap_get(&m->node_ids, v->n.parent));
			tally_add(&up->incl, &d.incl);
			change_add(&up->incl_change, &d.incl_change);
			up->rate_bytes += d.rate_bytes;
			up->rate_blocks += d.rate_blocks;
			up->sampled += d.sampled;
		}
		m->depth_head[depth] = 0;
	}
}

/* All inclusive sums anew: children come after their parents, so backwards is bottom-up. */
static void sum_all(struct model *m, uint64_t now)
{
	for (size_t i = 0; i < m->delta_count; i++) {
		struct vnode *v = node_at(m, m->deltas[i].index);
		take_self(&v->n, &m->deltas[i].d);
		m->depth_head[v->depth] = 0;
	}
	for (uint32_t i = 0; i < m->node_count; i++) {
		struct node *n = &node_at(m, i)->n;
		n->incl = n->self;
		n->incl_change = n->self_change;
		n->rate_bytes = n->self_rate_bytes;
		n->rate_blocks = n->self_rate_blocks;
		n->sampled = n->self_estimate;
	}
	for (uint32_t i = m->node_count; i-- > 0;) {
		struct vnode *v = node_at(m, i);
		struct vnode *up = v->n.parent == NO_ID ? NULL : node_by_id(m, v->n.parent);
		if (v->delta)
			v->n.changed_ns = now;
		if (up) {
			tally_add(&up->n.incl, &v->n.incl);
			change_add(&up->n.incl_change, &v->n.incl_change);
			up->n.rate_bytes += v->n.rate_bytes;
			up->n.rate_blocks += v->n.rate_blocks;
			up->n.sampled += v->n.sampled;
			up->delta |= v->delta;
		}
		v->delta = 0;
	}
}

/* Returns how many entries of m->changes there are. */
static size_t take_deltas(struct model *m, uint64_t now)
{
	size_t n = 0;

	GROW(m->changes, m->change_room, m->delta_count + 1);
	for (size_t i = 0; i < m->delta_count; i++)
		m->changes[n++] = m->deltas[i].d;
	if (m->delta_count > m->node_count / 8)
		sum_all(m, now);
	else
		walk_up(m, now);
	m->delta_count = m->depth_max = 0;
	return n;
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
	double weight = 0;

	if (m->resuming && !(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	expire_rates(m, time_ns);
	struct rate_batch *batch = new_batch(m, time_ns, &weight);
	take_staged(m, batch, weight);
	size_t changed = take_deltas(m, time_ns);
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
	model_notify(m, m->changes, changed);
	if ((m->base_wanted != m->base || m->until_wanted != m->until) && m->complete)
		marks_rebase(m);
}

void tick_clear(struct model *m)
{
	m->staged_count = m->delta_count = m->depth_max = 0;
	for (size_t i = 0; i < RATE_TICKS; i++)
		m->batches[i].count = 0;
	m->batch_first = m->batch_count = m->ring_first = m->ring_count = 0;
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
