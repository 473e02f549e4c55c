/* SPDX-License-Identifier: MIT
 *
 * walk.c - carries a tick's changes from slots to all sums above them.
 *
 * Each changed slot's difference is added to the next sum above it. Then the touched sums are
 * walked from the deepest level up, and each adds its difference to the next sum above
 * (model/sums.c). So a sum shared by a thousand changed slots is touched once: the cost is the
 * union of the changed paths. The differences lie beside the sums (struct delta) until the tick
 * takes effect (model/tick.c), and are then folded into them. Everything runs in slices.
 */
#include "model/walk.h"

#include "model/internal.h"

#include <stdlib.h>

#define AHEAD 16u   /* in memory */
#define KEPT 16384u /* deltas of a depth; of more, the list is freed */

/* Slots and sums lie anywhere in memory: prefetches the next one while this one is processed. */
static void expect_sum(const struct model *m, uint32_t number)
{
	if (number != NO_ID)
		__builtin_prefetch(&sum_at(&m->trie, number)->delta, 1);
}

static void expect_delta(const struct model *m, uint32_t number)
{
	uint32_t delta = number != NO_ID ? sum_at(&m->trie, number)->delta : 0;

	if (delta)
		__builtin_prefetch(&m->tick.deltas[delta - 1], 1);
}

static struct delta *delta_of(struct model *m, uint32_t number)
{
	struct sum *s = sum_at(&m->trie, number);

	if (s->delta)
		return &m->tick.deltas[s->delta - 1];
	GROW(m->tick.deltas, m->tick.delta_room, m->tick.delta_count + 1);
	GROW(m->tick.levels, m->tick.level_room, (size_t)s->depth + 1);
	if (moving(&m->interval)) {
		GROW(m->tick.delta_moves, m->tick.delta_moves_room, m->tick.delta_count + 1);
		m->tick.delta_moves[m->tick.delta_count] = (struct change){ 0 };
	}
	struct level *l = &m->tick.levels[s->depth];
	GROW(l->deltas, l->room, l->count + 1);
	l->deltas[l->count++] = (uint32_t)m->tick.delta_count;
	if (s->depth >= m->tick.level_count)
		m->tick.level_count = s->depth + 1u;
	struct delta *d = &m->tick.deltas[m->tick.delta_count++];
	*d = (struct delta){ .sum = number, .up = s->up };
	s->delta = (uint32_t)m->tick.delta_count;
	return d;
}

/* The entry for observers of a slot whose values change. */
static struct model_delta *change_of(struct model *m, uint32_t index)
{
	struct slot *s = slot_at(&m->trie, index);
	struct model_changes *c = m->tick.changes;

	if (!s->change) {
		c->list[c->count++] = (struct model_delta){ .node = s->node, .slot = index };
		s->change = (uint32_t)c->count;
	}
	return &c->list[s->change - 1];
}

static void add_rate(struct model *m, uint32_t index, const struct rate *rate)
{
	uint32_t sum = slot_at(&m->trie, index)->sum;

	rate_add(&change_of(m, index)->self_rate, rate);
	if (sum != NO_ID)
		rate_add(&delta_of(m, sum)->rate, rate);
}

/* Takes back all rates, for a job that adds those of the window's parts. */
static bool take_back_rates(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	size_t seen = 0, slot;

	if (!j->merged || !m->tick.told)
		return true;
	while ((slot = rates_next(&m->rates, j->unrated)) != SIZE_MAX) {
		if (time_is_up(seen++, end_ns))
			return false;
		struct rate r = rate_read(&m->rates, (uint32_t)slot);
		r = rate_sub(&(struct rate){ 0 }, &r);
		add_rate(m, (uint32_t)slot, &r);
		j->unrated = slot + 1;
	}
	return true;
}

/* Takes back the parts that left the window; those of a merged job are added. False: time is up. */
static bool expire_rates(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	size_t seen = 0;

	for (; j->expired < j->due; j->expired++, j->entry = 0) {
		const struct rate_part *p = rates_part(&m->rates, j->expired);
		for (; j->entry < p->count; j->entry++) {
			const struct rate_entry *e = &p->entries[j->entry];
			if (time_is_up(seen++, end_ns))
				return false;
			if (j->entry + AHEAD < p->count)
				expect_slot(&m->trie, e[AHEAD].slot);
			if (j->entry + AHEAD / 2 < p->count)
				expect_sum(m, slot_at(&m->trie, e[AHEAD / 2].slot)->sum);
			if (j->entry + AHEAD / 4 < p->count)
				expect_delta(m, slot_at(&m->trie, e[AHEAD / 4].slot)->sum);
			struct rate r = { e->bytes, e->blocks, e->freed };
			if (!j->merged)
				r = rate_sub(&(struct rate){ 0 }, &r);
			add_rate(m, e->slot, &r);
		}
	}
	return true;
}

static bool first_estimate(struct node *n)
{
	if (n->self_estimate || n->estimate_comes)
		return false;
	n->estimate_comes = 1;
	return true;
}

/* Adds a staged slot's change to the sums above it; the slot itself stays unchanged. */
static void take_slot(struct model *m, struct tick_job *j, struct staged *x)
{
	struct slot *s = slot_at(&m->trie, x->slot);
	struct rate rate = { 0 };

	if (x->now.alloc_blocks < s->now.alloc_blocks || x->now.alloc_bytes < s->now.alloc_bytes ||
	    x->now.free_blocks < s->now.free_blocks || x->now.free_bytes < s->now.free_bytes)
		x->now = s->now; /* staged while a newer one was being taken in, by a peer that
				    breaks the contract */
	struct tally grown = tally_sub(&x->now, &s->now);
	if (j->rated)
		rate = rate_of(&grown);
	if (!m->tick.told)
		return;
	struct change before = slot_change(&m->interval, x->slot, &s->now),
		      after = slot_change(&m->interval, x->slot, &x->now);
	struct change moved = change_sub(&after, &before);
	struct model_delta *own = change_of(m, x->slot);
	struct delta *d = s->sum != NO_ID ? delta_of(m, s->sum) : NULL;
	if (slot_is_estimate(s, &x->now) && first_estimate(node_at(&m->trie, s->node))) {
		own->self_sampled = 1;
		j->estimates = true;
		if (d)
			d->sampled++;
	}
	tally_add(&own->self, &grown);
	change_add(&own->self_change, &moved);
	rate_add(&own->self_rate, &rate);
	if (!d)
		return;
	tally_add(&d->incl, &grown);
	rate_add(&d->rate, &rate);
	if (moving(&m->interval))
		change_add(&m->tick.delta_moves[d - m->tick.deltas], &moved);
}

static bool take_slots(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	size_t seen = 0;

	for (; j->at < j->count; j->at++) {
		if (time_is_up(seen++, end_ns))
			return false;
		if (j->at + AHEAD < j->count)
			expect_slot(&m->trie, j->staged[j->at + AHEAD].slot);
		if (j->at + AHEAD / 2 < j->count)
			expect_sum(m, slot_at(&m->trie, j->staged[j->at + AHEAD / 2].slot)->sum);
		if (j->at + AHEAD / 4 < j->count)
			expect_delta(m, slot_at(&m->trie, j->staged[j->at + AHEAD / 4].slot)->sum);
		take_slot(m, j, &j->staged[j->at]);
	}
	return true;
}

static void expect_up(const struct model *m, const struct level *l, size_t at)
{
	if (at + AHEAD < l->count)
		__builtin_prefetch(&m->tick.deltas[l->deltas[at + AHEAD]]);
	if (at + AHEAD / 2 < l->count)
		expect_sum(m, m->tick.deltas[l->deltas[at + AHEAD / 2]].up);
	if (at + AHEAD / 4 < l->count)
		expect_delta(m, m->tick.deltas[l->deltas[at + AHEAD / 4]].up);
}

static void give_up(struct model *m, uint32_t i)
{
	struct delta d = m->tick.deltas[i]; /* what it is in may move */

	if (d.up == NO_ID)
		return;
	struct delta *up = delta_of(m, d.up);
	tally_add(&up->incl, &d.incl);
	rate_add(&up->rate, &d.rate);
	up->sampled += d.sampled;
	if (moving(&m->interval))
		change_add(&m->tick.delta_moves[up - m->tick.deltas], &m->tick.delta_moves[i]);
}

static void drop_level(struct level *l)
{
	l->count = 0;
	if (l->room <= KEPT)
		return;
	free(l->deltas);
	*l = (struct level){ NULL, 0, 0 };
}

/* Walks from the deepest level up, on changed paths only: each difference also belongs to the
 * next sum above. */
static bool walk_up(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	for (size_t seen = 0; m->tick.level_count; m->tick.level_count--, j->next = 0) {
		struct level *l = &m->tick.levels[m->tick.level_count - 1];
		for (; j->next < l->count; j->next++) {
			if (time_is_up(seen++, end_ns))
				return false;
			expect_up(m, l, j->next);
			give_up(m, l->deltas[j->next]);
		}
		drop_level(l);
	}
	return true;
}

void walk_forget(struct tick *x)
{
	while (x->level_count)
		drop_level(&x->levels[--x->level_count]);
}

/* Folds the deltas into the sums. False: time is up. */
static bool fold_sums(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	for (size_t seen = 0; j->folded < m->tick.delta_count; j->folded++) {
		if (time_is_up(seen++, end_ns))
			return false;
		const struct delta *d = &m->tick.deltas[j->folded];
		struct sum *s = sum_at(&m->trie, d->sum);
		if (j->folded + AHEAD < m->tick.delta_count)
			expect_sum(m, d[AHEAD].sum);
		s->delta = 0;
		tally_add(&s->incl, &d->incl);
		s->sampled += d->sampled;
		rate_add(&s->rate, &d->rate);
		if (moving(&m->interval))
			change_add(&m->interval.moves[d->sum], &m->tick.delta_moves[j->folded]);
	}
	return true;
}

/* Folds the rates into the slots, which have all else already. */
static bool fold_slots(struct model *m, struct tick_job *j, uint64_t end_ns)
{
	for (size_t seen = 0; j->rates_folded < m->tick.changes->count; j->rates_folded++) {
		if (time_is_up(seen++, end_ns))
			return false;
		const struct model_delta *d = &m->tick.changes->list[j->rates_folded];
		if (j->rates_folded + AHEAD < m->tick.changes->count)
			expect_slot(&m->trie, d[AHEAD].slot);
		slot_at(&m->trie, d->slot)->change = 0;
		if (rate_any(&d->self_rate))
			rate_add(rate_at(&m->rates, d->slot), &d->self_rate);
	}
	return true;
}

bool walk_fold(struct model *m, uint64_t end_ns)
{
	return fold_sums(m, &m->tick.job, end_ns) && fold_slots(m, &m->tick.job, end_ns);
}

/* Drops the computed deltas. */
void walk_undo(struct model *m)
{
	for (size_t i = 0; i < m->tick.delta_count; i++)
		sum_at(&m->trie, m->tick.deltas[i].sum)->delta = 0;
	walk_forget(&m->tick);
	for (size_t i = 0; m->tick.changes && i < m->tick.changes->count; i++)
		slot_at(&m->trie, m->tick.changes->list[i].slot)->change = 0;
}

bool walk_work_out(struct model *m, uint64_t end_ns)
{
	struct tick_job *j = &m->tick.job;

	if (!take_back_rates(m, j, end_ns) || !expire_rates(m, j, end_ns) ||
	    !take_slots(m, j, end_ns))
		return false;
	if (j->all)
		return true;
	return walk_up(m, j, end_ns);
}

void walk_free(struct tick *x)
{
	walk_forget(x);
	for (size_t i = 0; i < x->level_room; i++)
		free(x->levels[i].deltas);
	free(x->levels);
	x->levels = NULL;
	x->level_room = 0;
}
