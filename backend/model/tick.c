/* SPDX-License-Identifier: MIT
 *
 * tick.c - applies a tick: the counters staged since the last one become current, all together.
 *
 * Slots lie anywhere in memory, so each is prefetched while the ones before it are taken. Sums over
 * stacks are a snapshot's (model/columns.h), made when somebody looks.
 */
#include "model/tick.h"

#include "model/columns.h"
#include "model/internal.h"

#include <stdlib.h>

#define AHEAD 16u   /* in memory */
#define KEPT 16384u /* elements; a larger array is kept only while it is used */

void tick_put(struct model *m, uint32_t index, const struct tally *now)
{
	struct slot *s = slot_at(&m->trie, index);

	if (s->staged) {
		m->tick.staged[s->staged - 1].now = *now;
		return;
	}
	GROW(m->tick.staged, m->tick.staged_room, m->tick.staged_count + 1);
	m->tick.staged[m->tick.staged_count++] = (struct staged){ index, *now };
	s->staged = (uint32_t)m->tick.staged_count;
}

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err)
{
	uint32_t index = idmap_get(&m->trie.slot_ids, slot);

	if (index == NO_ID)
		return err_set(err, 3,
			       "stream: counters of slot %u, which was never named; connect again",
			       slot);
	struct slot *s = slot_at(&m->trie, index);
	const struct tally *old = s->staged ? &m->tick.staged[s->staged - 1].now : &s->now;
	if (now->alloc_blocks < old->alloc_blocks || now->alloc_bytes < old->alloc_bytes ||
	    now->free_blocks < old->free_blocks || now->free_bytes < old->free_bytes)
		return err_set(err, 3, "stream: counters of slot %u shrink; connect again", slot);
	if (now->free_blocks > now->alloc_blocks || now->free_bytes > now->alloc_bytes)
		return err_set(err, 3,
			       "stream: slot %u freed more than it allocated; connect again", slot);
	tick_put(m, index, now);
	return 0;
}

/* The node learns of it at the tick that counts the slot; for a slot counted already, at the
 * next. */
void tick_weigh(struct model *m, uint32_t index, bool sampled)
{
	struct slot *s = slot_at(&m->trie, index);
	bool known = s->sampled;

	if (s->epoch < m->sampled_epoch)
		m->sampled_epoch = s->epoch;
	s->sampled = sampled;
	if (known || s->staged || !(s->now.alloc_blocks | s->now.alloc_bytes))
		return;
	tick_put(m, index, &s->now);
}

/* A stack that has ever held estimates has them for good. */
static void take_estimate(struct model *m, const struct slot *s)
{
	if (!slot_is_estimate(s, &s->now))
		return;
	node_at(&m->trie, s->node)->self_estimate = 1;
	m->estimated = true;
}

void tick_sum_inherited(struct model *m)
{
	m->inherited = (struct tally){ 0 };
	for (uint32_t i = 0; m->program.first_epoch && i < m->trie.slot_count; i++)
		if (slot_at(&m->trie, i)->epoch < m->program.first_epoch)
			tally_add(&m->inherited, &slot_at(&m->trie, i)->now);
}

void tick_rate(struct model *m, struct slot *s, uint32_t slot, const struct rate *change)
{
	rates_enter(&m->rates, s, slot, change);
	if (rates_newest(&m->rates))
		columns_rate(m, slot, change);
}

static void take_slot(struct model *m, const struct staged *x, bool rated)
{
	struct slot *s = slot_at(&m->trie, x->slot);
	struct tally grown = tally_sub(&x->now, &s->now);

	if (rated) {
		struct rate change = rate_of(&grown);
		tick_rate(m, s, x->slot, &change);
	}
	if (s->epoch < m->program.first_epoch)
		tally_add(&m->inherited, &grown);
	s->now = x->now;
	s->staged = 0;
	take_estimate(m, s);
	columns_follow(m, x->slot);
}

/* One late tick precedes many small ones. */
static void trim(struct tick *t)
{
	if (t->staged_room > KEPT && t->staged_room - t->staged_room / 3 > t->staged_count) {
		free(t->staged);
		t->staged = NULL;
		t->staged_room = 0;
	}
	t->staged_count = 0;
}

void tick_commit(struct model *m, bool rated)
{
	const struct tick *t = &m->tick;

	for (size_t i = 0; i < t->staged_count; i++) {
		if (i + AHEAD < t->staged_count)
			expect_slot(&m->trie, t->staged[i + AHEAD].slot);
		if (i + AHEAD / 2 < t->staged_count)
			rates_expect(&m->rates, slot_at(&m->trie, t->staged[i + AHEAD / 2].slot));
		take_slot(m, &t->staged[i], rated);
	}
	trim(&m->tick);
}

void tick_remember(struct model *m, uint64_t time_ns, const struct totals *totals)
{
	const struct tally *sum = &totals->sum;
	struct point p = {
		time_ns,           live_bytes(sum),  live_blocks(sum), sum->alloc_bytes,
		sum->alloc_blocks, sum->free_blocks, m->figures.rss,
	};

	series_tick(&m->history.series, &p);
}

/* Makes the data since the second greeting current; not whole: the program ended meanwhile. */
static void be_resumed(struct model *m, bool whole)
{
	m->resuming = false;
	m->complete = whole;
	marks_arrive(&m->marks);
}

void tick_move_window(struct model *m, uint64_t before_ns, uint64_t now_ns,
		      const struct tally *before, bool rated)
{
	uint64_t was = stops_running(&m->stops, before_ns);
	size_t due =
		rates_due(&m->rates, was, rated ? stops_running(&m->stops, now_ns) : UINT64_MAX);

	while (due--) {
		size_t count;
		struct rate_entry *entries = rates_drop(&m->rates, &count);
		columns_expire(m, entries, count);
	}
	struct rate_part *fresh = rated ? rates_open(&m->rates, was, before) : NULL;
	if (fresh)
		fresh->thread_count = threads_done(&m->threads, &fresh->threads);
}

void tick_accept(struct model *m, uint64_t time_ns, uint32_t flags, const struct totals *totals,
		 bool remember)
{
	m->time_ns = time_ns;
	if (m->resuming)
		series_join(&m->history.series, &m->history.coming);
	if (totals && remember)
		tick_remember(m, time_ns, totals);
	if (totals)
		m->totals = *totals;
	m->ticks++;
	if (m->resuming)
		be_resumed(m, flags & MTW_TICK_COMPLETE);
	m->tick_complete = flags & MTW_TICK_COMPLETE;
	m->complete |= m->tick_complete;
	if (flags & MTW_TICK_FINAL)
		m->final = true;
	rates_show(&m->rates);
}

void tick_apply(struct model *m, uint64_t time_ns, uint32_t flags)
{
	uint64_t before = m->time_ns, now = time_ns > before ? time_ns : before;
	bool rated = m->complete && !m->resuming, has_totals = m->totals_pending;

	tick_move_window(m, before, now, &m->totals.sum, rated);
	tick_commit(m, rated);
	m->totals_pending = false;
	tick_accept(m, now, flags, has_totals ? &m->totals_staged : NULL, true);
	interval_resume(m);
}

void tick_clear(struct model *m)
{
	m->tick.staged_count = 0;
	m->tick.bulk.coming_count = m->tick.bulk.changed_count = m->tick.bulk.ticks = 0;
	rates_clear(&m->rates);
	m->totals_pending = m->estimated = false;
}

void tick_release(struct tick *x)
{
	free(x->staged);
	free(x->bulk.coming);
	free(x->bulk.changed);
}
