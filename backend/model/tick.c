/* SPDX-License-Identifier: MIT
 *
 * tick.c - applies a tick: staged counters become current, and every inclusive sum follows.
 *
 * Changes are computed from slot to sum (model/walk.c). When a large part has changed (a first
 * state), one pass over everything is cheaper and gives the same result. During a first state the
 * pass reports no list of changes: everything changed, and the list would be larger than the model.
 *
 * A tick takes effect at once: staged counters become the slots', and the deltas of the touched
 * sums are read together with the sums (model_incl()) until they are folded in, in slices again.
 *
 * After a large tick the memory that only ticks need is freed. model/paths/rate.c has the rates.
 */
#include "model/internal.h"
#include "model/sums.h"
#include "model/walk.h"

#include <stdlib.h>
#include <string.h>

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
	m->tick.job.partial = m->tick.job.waits;
	tick_put(m, index, now);
	return 0;
}

/* The node learns of it at the tick that counts the slot; for a slot counted already, at the
 * next. */
static void weigh(struct model *m, const struct weighed *w)
{
	struct slot *s = slot_at(&m->trie, w->slot);
	bool known = s->sampled;

	if (s->epoch < m->sampled_epoch)
		m->sampled_epoch = s->epoch;
	s->sampled = w->sampled;
	if (known || s->staged || !(s->now.alloc_blocks | s->now.alloc_bytes))
		return;
	tick_put(m, w->slot, &s->now);
}

void tick_weigh(struct model *m, uint32_t index, bool sampled)
{
	const struct weighed w = { index, sampled };

	if (!m->tick.job.busy && !m->tick.job.waits) {
		weigh(m, &w);
		return;
	}
	/* it is staged as it will be then, not as it is */
	GROW(m->tick.weighed, m->tick.weighed_room, m->tick.weighed_count + 1);
	m->tick.weighed[m->tick.weighed_count++] = w;
	m->tick.job.partial = m->tick.job.waits;
}

void tick_sum_all(struct model *m)
{
	if (m->interval.moves)
		GROW(m->interval.moves, m->interval.moves_room, m->trie.sum_count);
	struct parts sums = { 0 }, rates = { 0 };
	walk_undo(m);
	sums_make(&m->trie, &sums, UINT64_MAX);
	rates_sum_all(&m->rates, &m->trie, &rates, UINT64_MAX);
	if (moving(&m->interval))
		interval_sum_moves(m);
}

/* For an empty array: unused elements stay untouched. Growing it step by step would dominate a
 * slice. */
#define MAKE_ROOM(ptr, have, need)                                                                 \
	do {                                                                                       \
		if ((have) < (need)) {                                                             \
			free(ptr);                                                                 \
			(ptr) = xmalloc((need) * sizeof *(ptr));                                   \
			(have) = (need);                                                           \
		}                                                                                  \
	} while (0)

/* The job gets what was staged; more may be staged meanwhile. */
static void take_staged(struct model *m)
{
	struct tick_job *j = &m->tick.job;
	struct staged *staged = j->staged;
	size_t room = j->room;

	j->staged = m->tick.staged;
	j->room = m->tick.staged_room;
	j->count = m->tick.staged_count;
	m->tick.staged = staged;
	m->tick.staged_room = room;
	m->tick.staged_count = 0;
	for (size_t i = 0; i < j->count; i++) {
		if (i + AHEAD < j->count)
			expect_slot(&m->trie, j->staged[i + AHEAD].slot);
		slot_at(&m->trie, j->staged[i].slot)->staged = 0;
	}
}

/* Chooses how to apply the job, from its changes; a merged one always runs in slices. */
static void choose(struct model *m, bool whole)
{
	struct tick_job *j = &m->tick.job;

	j->all = j->count + j->expiring > m->trie.node_count / 8 + 1024 &&
		 !((m->tick.sliced || j->merged) && whole);
	m->tick.told = !j->all || whole;
	if (m->tick.told) {
		/* at most one per slot; the unused part stays untouched */
		m->tick.changes = xmalloc(sizeof *m->tick.changes +
					  (j->count + j->expiring) * sizeof *m->tick.changes->list);
		*m->tick.changes = (struct model_changes){ .keepers = 1 };
		size_t sums = j->count + j->expiring < m->trie.sum_count ? j->count + j->expiring
									 : m->trie.sum_count;
		MAKE_ROOM(m->tick.deltas, m->tick.delta_room, sums);
	}
	j->expired = m->tick.told ? 0 : j->due;
	j->at = j->next = j->unrated = j->entry = 0;
	j->estimates = false;
}

void tick_begin(struct model *m, uint64_t time_ns, uint32_t flags)
{
	struct tick_job *j = &m->tick.job;
	bool whole = m->complete && !m->resuming;

	for (size_t i = 0; i < m->tick.weighed_count; i++)
		weigh(m, &m->tick.weighed[i]);
	m->tick.weighed_count = 0;
	j->busy = true;
	j->waits = j->partial = j->no_interval = j->merged = false;
	j->time_ns = time_ns > m->time_ns ? time_ns : m->time_ns;
	j->flags = flags;
	j->has_totals = m->totals_pending;
	j->totals = m->totals_staged;
	m->totals_pending = false;
	take_staged(m);
	j->rated = whole;
	j->due = rates_due(&m->rates, stops_running(&m->stops, m->time_ns),
			   whole ? stops_running(&m->stops, j->time_ns) : UINT64_MAX, &j->expiring);
	choose(m, whole);
}

void tick_begin_merged(struct model *m)
{
	const struct bulk *b = &m->tick.bulk;
	struct tick_job *j = &m->tick.job;

	j->busy = j->merged = true;
	j->waits = j->partial = j->no_interval = j->rated = false;
	j->time_ns = b->time_ns;
	j->flags = b->flags;
	j->has_totals = b->has_totals;
	j->totals = b->totals;
	take_staged(m);
	j->due = m->rates.count;
	j->expiring = rates_entries(&m->rates) + rates_room(&m->rates);
	choose(m, true);
}

/* Frees an array larger than the tick needed: one late tick precedes many small ones. */
#define TRIM(ptr, have, used)                                                                      \
	do {                                                                                       \
		if ((have) > KEPT && (have) - (have) / 3 > (used)) {                               \
			free(ptr);                                                                 \
			(ptr) = NULL;                                                              \
			(have) = 0;                                                                \
		}                                                                                  \
	} while (0)

static void drop_changes(struct model *m)
{
	model_drop_changes(m->tick.changes);
	m->tick.changes = NULL;
}

static void trim(struct model *m)
{
	if (!m->tick.staged_count) /* else it waits for the next tick */
		TRIM(m->tick.staged, m->tick.staged_room, m->tick.job.count);
	TRIM(m->tick.job.staged, m->tick.job.room, m->tick.job.count);
	TRIM(m->tick.delta_moves, m->tick.delta_moves_room,
	     moving(&m->interval) ? m->tick.delta_count : 0);
	TRIM(m->tick.deltas, m->tick.delta_room, m->tick.delta_count);
	m->tick.delta_count = 0;
	drop_changes(m);
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

/* Handles the loss of the interval while changes were counted in it. */
static void count_from_start(struct model *m)
{
	for (size_t i = 0; m->tick.changes && i < m->tick.changes->count; i++) {
		struct model_delta *d = &m->tick.changes->list[i];
		d->self_change = (struct change){ .born_blocks = live_blocks(&d->self),
						  .born_bytes = live_bytes(&d->self) };
	}
}

static void take_estimate(struct node *n)
{
	n->self_estimate |= n->estimate_comes;
	n->estimate_comes = 0;
}

void tick_move_window(struct model *m, size_t due, bool rated, uint64_t before_ns,
		      const struct tally *before)
{
	while (due--)
		rates_drop(&m->rates);
	struct rate_part *fresh =
		rated ? rates_open(&m->rates, stops_running(&m->stops, before_ns), before) : NULL;
	if (fresh)
		fresh->thread_count = threads_done(&m->threads, &fresh->threads);
}

static void commit_slots(struct model *m, const struct tick_job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		const struct staged *x = &j->staged[i];
		struct slot *s = slot_at(&m->trie, x->slot);
		if (i + AHEAD < j->count)
			expect_slot(&m->trie, x[AHEAD].slot);
		if (i + AHEAD / 2 < j->count)
			rates_expect(&m->rates, slot_at(&m->trie, x[AHEAD / 2].slot));
		if (j->rated) {
			struct tally grown = tally_sub(&x->now, &s->now);
			struct rate change = rate_of(&grown);
			rates_enter(&m->rates, s, x->slot, &change);
		}
		s->now = x->now;
	}
}

void tick_accept(struct model *m, uint64_t time_ns, uint32_t flags, const struct totals *totals)
{
	m->time_ns = time_ns;
	if (m->resuming)
		series_join(&m->history.series, &m->history.coming);
	if (totals && !m->tick.job.merged)
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
}

/* The tick takes effect. */
static void take_effect(struct model *m)
{
	struct tick_job *j = &m->tick.job;

	if (m->interval.moves)
		GROW(m->interval.moves, m->interval.moves_room, m->trie.sum_count);
	if (!j->merged)
		tick_move_window(m, j->due, j->rated, m->time_ns, &m->totals.sum);
	commit_slots(m, j);
	rates_show(&m->rates);
	j->folding = !j->all;
	j->folded = j->rates_folded = 0;
	if (j->all)
		tick_sum_all(m);
	for (size_t i = 0; j->estimates && i < m->tick.changes->count; i++)
		if (m->tick.changes->list[i].self_sampled)
			take_estimate(node_at(&m->trie, m->tick.changes->list[i].node));
	tick_accept(m, j->time_ns, j->flags, j->has_totals ? &j->totals : NULL);
	if (j->no_interval)
		count_from_start(m);
	observers_tell(&m->observers, m->tick.changes ? m->tick.changes->list : NULL,
		       m->tick.changes ? m->tick.changes->count : 0);
}

static void finish(struct model *m)
{
	m->tick.job.busy = m->tick.job.folding = m->tick.job.merged = false;
	rates_rest(&m->rates);
	trim(m);
	interval_resume(m);
}

bool tick_go_on(struct model *m, uint64_t end_ns)
{
	struct tick_job *j = &m->tick.job;

	if (!j->folding) {
		if (!walk_work_out(m, end_ns))
			return false;
		take_effect(m);
	}
	if (j->folding && !walk_fold(m, end_ns))
		return false;
	finish(m);
	return true;
}

void tick_clear(struct model *m)
{
	m->tick.staged_count = m->tick.weighed_count = m->tick.delta_count = 0;
	m->tick.bulk.coming_count = m->tick.bulk.changed_count = m->tick.bulk.ticks = 0;
	walk_forget(&m->tick);
	drop_changes(m);
	m->tick.job.busy = m->tick.job.folding = m->tick.job.waits = m->tick.job.partial = false;
	m->tick.job.count = 0;
	rates_clear(&m->rates);
	m->totals_pending = false;
}

void tick_release(struct tick *x)
{
	walk_free(x);
	free(x->weighed);
	free(x->staged);
	free(x->bulk.coming);
	free(x->bulk.changed);
	free(x->job.staged);
	free(x->deltas);
	free(x->delta_moves);
}
