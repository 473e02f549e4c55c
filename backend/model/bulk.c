/* SPDX-License-Identifier: MIT
 *
 * bulk.c - applies the ticks of a session file that is read to an instant: many, of which only the
 * last state is shown.
 *
 * In a model that has no complete state yet each tick takes effect at once.
 * In a model that shows a state the counters stay staged (merge), and with them totals and time:
 * what is shown stays whole, and at the end they take effect like one tick. Everything else happens
 * at every tick (history, parts of the rates, flags), so that the end is the same state to the last
 * digit.
 *
 * A session names millions of slots. So counters are gathered until another event comes, or many
 * have, and each slot is prefetched while the ones before it are checked.
 */
#include "model/bulk.h"

#include "model/internal.h"

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

/* Keeps what a slot had at the last tick; its counters may come twice before the next. */
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

/* They stay staged. */
static void pass_by(struct model *m, bool rated)
{
	struct bulk *b = &m->tick.bulk;

	for (size_t i = 0; i < b->changed_count; i++) {
		struct slot *s = slot_at(&m->trie, b->changed[i].slot);
		s->change = 0;
		if (!rated)
			continue;
		struct tally grown = tally_sub(coming_of(m, s), &b->changed[i].now);
		struct rate change = rate_of(&grown);
		tick_rate(m, s, b->changed[i].slot, &change);
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
	const struct totals *totals = b->has_totals ? &b->totals : &m->totals;
	bool rated = m->complete && !m->resuming;

	if (!b->merge) {
		tick_apply(m, time_ns, flags);
		return;
	}
	tick_move_window(m, before, now, &totals->sum, rated);
	pass_by(m, rated);
	merge_tick(m, now, flags);
	m->totals_pending = false;
}

int bulk_restore(struct model *m, struct err *err)
{
	if (bulk_take(m, err))
		return -1;
	tick_commit(m, false);
	return 0;
}

static void begin(struct model *m)
{
	struct bulk *b = &m->tick.bulk;

	b->on = true;
	b->merge = m->complete && !m->resuming;
	b->ticks = b->flags = 0;
	b->has_totals = false;
}

/* Counters of a tick that has not come belong to the next one: they are staged again. */
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
	if (b->ticks) {
		tick_commit(m, false); /* they are in the rates */
		tick_accept(m, b->time_ns, b->flags, b->has_totals ? &b->totals : NULL, false);
	}
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

static int end(struct model *m, struct err *err)
{
	int rc = bulk_take(m, err);

	m->tick.bulk.on = false;
	if (m->tick.bulk.merge)
		end_merge(m);
	m->tick.bulk.merge = false;
	release(&m->tick.bulk);
	interval_resume(m);
	return rc;
}

void model_bulk_begin(struct model *m)
{
	if (!m->tick.bulk.on)
		begin(m);
}

int model_bulk_end(struct model *m, struct err *err)
{
	return m->tick.bulk.on ? end(m, err) : 0;
}
