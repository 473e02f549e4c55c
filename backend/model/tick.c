/* SPDX-License-Identifier: MIT
 *
 * tick.c - what a tick does: staged counters become current, and every inclusive sum follows.
 *
 * What changed is worked out from slot to sum (model/walk.c); when it is a good part of all (a
 * first state), one pass over all is cheaper and does the same. Nobody is told what that pass
 * changed while a first state comes: it was all, and a list of all is larger than all.
 *
 * It takes effect at once: staged counters become the slots', and what the touched sums get is read
 * together with what they have (model_incl()) until it has been folded into them, which takes its
 * time again.
 *
 * What is needed for a tick alone is freed after a large one. Rates are model/rate.c's.
 */
#include "model/internal.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define AT_ONCE 2000u /* changed slots, at most, that are not worth slices */
#define AHEAD 16u     /* in memory */
#define KEPT 16384u   /* elements; what is larger is kept as long as it is used */

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err)
{
	uint32_t index = idmap_get(&m->slot_ids, slot);

	if (index == NO_ID)
		return err_set(err, 3,
			       "stream: counters of slot %u, which was never named; connect again",
			       slot);
	struct slot *s = slot_at(m, index);
	const struct tally *old = s->staged ? &m->staged[s->staged - 1].now : &s->now;
	if (now->alloc_blocks < old->alloc_blocks || now->alloc_bytes < old->alloc_bytes ||
	    now->free_blocks < old->free_blocks || now->free_bytes < old->free_bytes)
		return err_set(err, 3, "stream: counters of slot %u shrink; connect again", slot);
	if (now->free_blocks > now->alloc_blocks || now->free_bytes > now->alloc_bytes)
		return err_set(err, 3,
			       "stream: slot %u freed more than it allocated; connect again", slot);
	m->job.partial = m->job.waits;
	if (s->staged) {
		m->staged[s->staged - 1].now = *now;
		return 0;
	}
	GROW(m->staged, m->staged_room, m->staged_count + 1);
	m->staged[m->staged_count++] = (struct staged){ index, *now };
	s->staged = (uint32_t)m->staged_count;
	return 0;
}

/* Its node learns of it at the tick that counts in it; one that did already, at the next. */
static void weigh(struct model *m, const struct weighed *w)
{
	struct slot *s = slot_at(m, w->slot);
	bool known = s->sampled;

	if (s->epoch < m->sampled_epoch)
		m->sampled_epoch = s->epoch;
	s->sampled = w->sampled;
	if (known || s->staged || !(s->now.alloc_blocks | s->now.alloc_bytes))
		return;
	GROW(m->staged, m->staged_room, m->staged_count + 1);
	m->staged[m->staged_count++] = (struct staged){ w->slot, s->now };
	s->staged = (uint32_t)m->staged_count;
}

void tick_weigh(struct model *m, uint32_t index, bool sampled)
{
	const struct weighed w = { index, sampled };

	if (!m->job.busy && !m->job.waits) {
		weigh(m, &w);
		return;
	}
	/* it is staged as it will be then, not as it is */
	GROW(m->weighed, m->weighed_room, m->weighed_count + 1);
	m->weighed[m->weighed_count++] = w;
	m->job.partial = m->job.waits;
}

/* All inclusive sums anew, from the slots. */
static void sum_all(struct model *m)
{
	tick_undo(m);
	sums_make(m);
	rates_sum_all(m);
	if (moving(m))
		interval_sum_moves(m);
}

/* For an array that is empty: what is not used of it is not touched. To grow it by and by takes
 * longest in a slice. */
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
	struct staged *staged = j->staged;
	size_t room = j->room;

	for (size_t i = 0; i < m->weighed_count; i++)
		weigh(m, &m->weighed[i]);
	m->weighed_count = 0;
	j->busy = true;
	j->waits = j->partial = j->no_interval = false;
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
	for (size_t i = 0; i < j->count; i++) {
		if (i + AHEAD < j->count)
			expect_slot(m, j->staged[i + AHEAD].slot);
		slot_at(m, j->staged[i].slot)->staged = 0;
	}
	j->has_batch = rates_begin(m, j->time_ns, j->count, &j->batch, &j->weight);
	j->due = rates_due(m, j->time_ns, &j->expiring);
	bool whole = m->complete && !m->resuming;
	j->all = j->count + j->expiring > m->node_count / 8 + 1024 && !(m->sliced && whole);
	m->told = !j->all || whole;
	if (m->told) {
		/* a slot has one at most; what is not used of it is not touched */
		m->changes = xmalloc(sizeof *m->changes +
				     (j->count + j->expiring) * sizeof *m->changes->list);
		*m->changes = (struct model_changes){ .keepers = 1 };
		size_t sums = j->count + j->expiring < m->sum_count ? j->count + j->expiring
								    : m->sum_count;
		MAKE_ROOM(m->deltas, m->delta_room, sums);
	}
	j->expired = m->told ? 0 : j->due;
	j->block = NULL;
	j->at = j->next = 0;
	j->entry = 0;
	j->estimates = false;
}

/* Frees an array that is larger than what the tick needed: one late tick is followed by many that
 * are not. */
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
	model_drop_changes(m->changes);
	m->changes = NULL;
}

static void trim(struct model *m)
{
	if (!m->staged_count) /* else it waits for the next tick */
		TRIM(m->staged, m->staged_room, m->job.count);
	TRIM(m->job.staged, m->job.room, m->job.count);
	TRIM(m->delta_moves, m->delta_moves_room, moving(m) ? m->delta_count : 0);
	TRIM(m->deltas, m->delta_room, m->delta_count);
	m->delta_count = 0;
	drop_changes(m);
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
	struct point p = { m->time_ns,
			   live_bytes(&m->totals.sum),
			   live_blocks(&m->totals.sum),
			   m->totals.sum.alloc_bytes,
			   m->totals.sum.alloc_blocks,
			   m->totals.sum.free_blocks,
			   m->rss };
	series_tick(&m->series, &p);
}

/* What came since the second greeting is what there is now; not whole: the program ended
 * meanwhile. */
static void be_resumed(struct model *m, bool whole)
{
	m->resuming = false;
	m->complete = whole;
	marks_arrive(m);
}

/* The interval went while changes were counted in it. */
static void count_from_start(struct model *m)
{
	for (size_t i = 0; m->changes && i < m->changes->count; i++) {
		struct model_delta *d = &m->changes->list[i];
		d->self_change = (struct change){ .born_blocks = live_blocks(&d->self),
						  .born_bytes = live_bytes(&d->self) };
	}
}

static void take_estimate(struct node *n)
{
	n->self_estimate |= n->estimate_comes;
	n->estimate_comes = 0;
}

static void commit_slots(struct model *m, const struct tick_job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		if (i + AHEAD < j->count)
			expect_slot(m, j->staged[i + AHEAD].slot);
		slot_at(m, j->staged[i].slot)->now = j->staged[i].now;
	}
}

/* From now on it is what is there. */
static void take_effect(struct model *m)
{
	struct tick_job *j = &m->job;

	if (m->moves)
		GROW(m->moves, m->moves_room, m->sum_count);
	commit_slots(m, j);
	for (size_t i = 0; i < j->due; i++)
		rates_drop(m);
	if (j->has_batch)
		rates_push(m, &j->batch);
	j->folding = !j->all;
	j->folded = j->rated = 0;
	if (j->all)
		sum_all(m);
	for (size_t i = 0; j->estimates && i < m->changes->count; i++)
		if (m->changes->list[i].self_sampled)
			take_estimate(node_at(m, m->changes->list[i].node));
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
	model_notify(m, m->changes ? m->changes->list : NULL, m->changes ? m->changes->count : 0);
}

static void finish(struct model *m)
{
	m->job.busy = m->job.folding = false;
	rates_rest(m);
	trim(m);
	interval_resume(m);
}

static bool tick_go_on(struct model *m, uint64_t end_ns)
{
	struct tick_job *j = &m->job;

	if (!j->folding) {
		if (!tick_work_out(m, end_ns))
			return false;
		take_effect(m);
	}
	if (j->folding && !tick_fold(m, end_ns))
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
		} else if (m->late_count && !m->interval.begun) {
			if (!sums_settle(m, end_ns))
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
	m->job.partial = false; /* nobody knows whether the rest comes */
	model_go_on(m, UINT64_MAX);
}

bool model_busy(const struct model *m)
{
	return m->job.busy || m->interval.busy || m->late_count ||
	       (m->job.waits && !m->job.partial);
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
		m->job.partial = false;
		m->job.wait_ns = time_ns;
		m->job.wait_flags = flags;
		return;
	}
	m->job.waits = false; /* what belongs to it is staged with what belongs to this one */
	tick_settle(m);
	begin(m, time_ns, flags);
	if (!by_and_by || m->job.count + m->job.expiring <= AT_ONCE)
		tick_settle(m);
}

void tick_clear(struct model *m)
{
	m->staged_count = m->weighed_count = m->delta_count = 0;
	levels_forget(m);
	drop_changes(m);
	rates_forget(&m->job.batch);
	m->job.busy = m->job.folding = m->job.waits = m->job.partial = false;
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
