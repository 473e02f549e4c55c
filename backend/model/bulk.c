/* SPDX-License-Identifier: MIT
 *
 * bulk.c - applies the ticks of a session file that is read to an instant.
 *
 * Nobody looks at the ticks on the way, so their inclusive sums are left out, which are nine tenths
 * of a tick's work. Everything else happens at every tick as in model/tick.c (history, batches of
 * rates, flags), so that the end is the same state to the last digit. There are two ways:
 *     a model that has no complete state yet   each tick's counters become the slots' at once; at
 *                                              the end, one pass makes all sums
 *     a model that shows a state (merge)       the counters stay staged, and with them totals and
 *                                              time: what is shown stays whole. At the end they
 *                                              take effect like one tick, in slices
 *
 * Slots lie anywhere in memory, and a session names millions of them. So counters are gathered
 * until another event comes, or many have, and each slot is prefetched while the ones before it are
 * checked.
 */
#include "model/bulk.h"

#include "model/internal.h"
#include "model/sums.h"
#include "model/walk.h"

#include <stdlib.h>

#define AHEAD 16u   /* in memory */
#define MANY 16384u /* counters */

int bulk_counts(struct model *m, uint32_t slot, const struct tally *now, struct err *err)
{
	struct bulk *b = &m->tick.bulk;

	GROW(b->coming, b->coming_room, b->coming_count + 1);
	b->coming[b->coming_count++] = (struct staged){ slot, *now };
	return b->coming_count < MANY ? 0 : bulk_take(m, err);
}

/* What the slot has from the next tick on. */
static struct tally *coming_of(struct model *m, struct slot *s)
{
	return s->staged ? &m->tick.staged[s->staged - 1].now : &s->now;
}

/* Keeps what a slot had at the last tick; its counters may come twice before the next. slot.change
 * is free for this: no job runs. */
static void note_change(struct model *m, uint32_t index)
{
	struct bulk *b = &m->tick.bulk;
	struct slot *s = index != NO_ID ? slot_at(&m->trie, index) : NULL;

	if (!s || s->change)
		return;
	GROW(b->changed, b->changed_room, b->changed_count + 1);
	b->changed[b->changed_count++] = (struct staged){ index, *coming_of(m, s) };
	s->change = (uint32_t)b->changed_count;
}

int bulk_take(struct model *m, struct err *err)
{
	struct bulk *b = &m->tick.bulk;
	const struct staged *list = b->coming;
	size_t n = b->coming_count;

	b->coming_count = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t ahead =
			i + AHEAD < n ? idmap_get(&m->trie.slot_ids, list[i + AHEAD].slot) : NO_ID;
		if (ahead != NO_ID)
			expect_slot(&m->trie, ahead);
		if (b->merge)
			note_change(m, idmap_get(&m->trie.slot_ids, list[i].slot));
		if (tick_stage(m, list[i].slot, &list[i].now, err))
			return -1;
	}
	return 0;
}

static void enter_rate(struct model *m, struct slot *s, uint32_t slot, const struct tally *was,
		       const struct tally *now)
{
	struct tally grown = tally_sub(now, was);
	struct rate change = rate_of(&grown);

	rates_enter(&m->rates, s, slot, &change);
}

/* The staged counters become the slots'. */
static void commit(struct model *m, bool rated)
{
	for (size_t i = 0; i < m->tick.staged_count; i++) {
		const struct staged *x = &m->tick.staged[i];
		struct slot *s = slot_at(&m->trie, x->slot);
		if (i + AHEAD < m->tick.staged_count)
			expect_slot(&m->trie, x[AHEAD].slot);
		if (rated)
			enter_rate(m, s, x->slot, &s->now, &x->now);
		s->now = x->now;
		s->staged = 0;
	}
	m->tick.staged_count = 0;
}

/* They stay staged. */
static void pass_by(struct model *m, bool rated)
{
	struct bulk *b = &m->tick.bulk;

	for (size_t i = 0; i < b->changed_count; i++) {
		struct slot *s = slot_at(&m->trie, b->changed[i].slot);
		s->change = 0;
		if (rated)
			enter_rate(m, s, b->changed[i].slot, &b->changed[i].now, coming_of(m, s));
	}
	b->changed_count = 0;
}

static void merge_tick(struct model *m, uint64_t now, uint32_t flags)
{
	struct bulk *b = &m->tick.bulk;

	b->ticks++;
	b->time_ns = now;
	b->flags = flags | (b->flags & MTW_TICK_FINAL);
	if (!m->totals_pending)
		return;
	b->totals = m->totals_staged;
	b->has_totals = true;
	tick_remember(m, now, &b->totals);
}

uint64_t bulk_time(const struct model *m)
{
	return m->tick.bulk.merge && m->tick.bulk.ticks ? m->tick.bulk.time_ns : m->time_ns;
}

void bulk_tick(struct model *m, uint64_t time_ns, uint32_t flags)
{
	struct bulk *b = &m->tick.bulk;
	uint64_t before = bulk_time(m), now = time_ns > before ? time_ns : before;
	const struct totals *totals = b->merge && b->has_totals ? &b->totals : &m->totals;
	bool rated = m->complete && !m->resuming;
	size_t entries,
		due = rates_due(&m->rates, stops_running(&m->stops, before),
				rated ? stops_running(&m->stops, now) : UINT64_MAX, &entries);

	tick_move_window(m, due, rated, before, &totals->sum);
	(b->merge ? pass_by : commit)(m, rated);
	if (b->merge) {
		merge_tick(m, now, flags);
	} else {
		tick_accept(m, now, flags, m->totals_pending ? &m->totals_staged : NULL);
		rates_show(&m->rates);
	}
	m->totals_pending = false;
}

int bulk_restore(struct model *m, struct err *err)
{
	if (bulk_take(m, err))
		return -1;
	commit(m, false);
	return 0;
}

void bulk_begin(struct model *m)
{
	struct bulk *b = &m->tick.bulk;

	b->on = true;
	b->merge = m->complete && !m->resuming;
	b->ticks = b->flags = 0;
	b->has_totals = false;
	b->of = 0;
}

/* Counters of a tick that has not come belong to the next one: the job takes what is staged. */
static void end_merge(struct model *m)
{
	struct bulk *b = &m->tick.bulk;

	for (size_t i = 0; i < b->changed_count; i++) {
		struct staged *x = &b->changed[i];
		struct slot *s = slot_at(&m->trie, x->slot);
		struct tally *now = coming_of(m, s), then = x->now;
		x->now = *now;
		*now = then;
		s->change = 0;
	}
	if (b->ticks)
		tick_begin_merged(m);
	for (size_t i = 0; i < b->changed_count; i++)
		tick_put(m, b->changed[i].slot, &b->changed[i].now);
	b->changed_count = 0;
}

/* The next ticks come one by one. */
static void release(struct bulk *b)
{
	free(b->coming);
	free(b->changed);
	b->coming = b->changed = NULL;
	b->coming_room = b->changed_room = 0;
}

/* Changes with each tick and with each call path. */
static uint64_t state_of(const struct model *m)
{
	return 1 + m->instants.ticks_read + m->trie.node_count + m->trie.slot_count;
}

bool bulk_sum(struct model *m, uint64_t end_ns)
{
	struct bulk *b = &m->tick.bulk;

	if (b->merge || moving(&m->interval))
		return true;
	if (b->of != state_of(m)) {
		b->of = state_of(m);
		b->sums = b->rates = (struct parts){ 0 };
		walk_undo(m);
	}
	return sums_make(&m->trie, &b->sums, end_ns) &&
	       rates_sum_all(&m->rates, &m->trie, &b->rates, end_ns);
}

static bool is_summed(struct model *m)
{
	const struct bulk *b = &m->tick.bulk;

	return b->of == state_of(m) && !moving(&m->interval) && bulk_sum(m, UINT64_MAX);
}

int bulk_end(struct model *m, struct err *err)
{
	bool merge = m->tick.bulk.merge;
	int rc = bulk_take(m, err);

	m->tick.bulk.on = m->tick.bulk.merge = false;
	if (merge)
		end_merge(m);
	release(&m->tick.bulk);
	if (merge)
		return rc;
	if (!is_summed(m))
		tick_sum_all(m);
	observers_tell(&m->observers, NULL, 0);
	rates_rest(&m->rates);
	interval_resume(m);
	return rc;
}
