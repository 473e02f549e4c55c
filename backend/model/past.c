/* SPDX-License-Identifier: MIT
 *
 * past.c - a model of another instant of the same program.
 *
 * Call paths are only added, never removed, so the past is the same tree with smaller counters.
 * model_seed() shares the call tree of the current model (columns_adopt()), in the same order of
 * arrival and without counters; then the session's frames are played into it (link/replay.c). After
 * model_swap(), every id and order of arrival that rows, names and owners keep still means the
 * same: open rows stay open.
 *
 * A mark, and the heap's peak, lie between two ticks. The agent sent what each slot had at the peak
 * (heap/peak.h), and what was live in it at a mark (model/history/marks.c). A mark ends an epoch,
 * and a slot allocates in its own epoch alone, so a mark's counters are known, too:
 *     allocated = what the slot of an epoch up to the mark's has allocated until now
 *     freed     = allocated - live at the mark
 * A block that a thread was allocating while the mark was set may be in both. model_recall() enters
 * them as a tick of that instant, after the frames up to the last tick before; without any frames,
 * after what the current model knows up to the instant (dump_past()). Then no more is known
 * of it: no scans, nor what each thread did.
 */
#include "model/columns.h"
#include "model/model_state.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>

static int take_event(void *arg, const struct event *e, struct err *err)
{
	return model_apply(arg, e, err);
}

struct taking {
	struct model *m;
	struct err *err;
};

static int take_frame(void *arg, uint64_t type, const uint8_t *payload, size_t len)
{
	struct taking *t = arg;

	return wire_read(type, payload, len, take_event, t->m, t->err);
}

/* They have the same numbers in both. */
static int seed_locations(struct model *m, const struct locations *from, struct err *err)
{
	for (size_t i = m->locations.count; i < from->count; i++) {
		const struct location *at = &from->list[i];
		if (locations_enter(&m->locations, &m->quota, at->module, at->offset, at->kind,
				    err) == NO_ID)
			return -1;
	}
	return 0;
}

int model_seed(struct model *m, const struct model *from, struct err *err)
{
	struct taking t = { m, err };

	if (dump_program(from, m, take_frame, &t))
		return -1;
	if (seed_locations(m, &from->locations, err))
		return -1;
	model_columns(m); /* all that came */
	if (!columns_adopt(&m->maker->columns, model_columns(from)))
		return err_set(err, 3, "the session has other call paths at that instant");
	return 0;
}

/* A slot's counters at a mark. was: what they were before; none of them shrinks. It may have more
 * live than it has allocated yet: the mark is newer than the last tick. */
static struct tally counters_at(const struct columns *c, uint32_t slot, uint64_t epoch,
				const struct live *live, const struct tally *was)
{
	const struct tally now = columns_now(c, slot);
	struct tally then = *was;

	if (columns_epoch(c, slot) <= epoch) {
		if (now.alloc_blocks > then.alloc_blocks)
			then.alloc_blocks = now.alloc_blocks;
		if (now.alloc_bytes > then.alloc_bytes)
			then.alloc_bytes = now.alloc_bytes;
	}
	if (live->blocks + was->free_blocks > then.alloc_blocks)
		then.alloc_blocks = live->blocks + was->free_blocks;
	if (live->bytes + was->free_bytes > then.alloc_bytes)
		then.alloc_bytes = live->bytes + was->free_bytes;
	then.free_blocks = then.alloc_blocks - live->blocks;
	then.free_bytes = then.alloc_bytes - live->bytes;
	return then;
}

/* What each slot had at the mark, or at the peak, by order of arrival; free() it. was: in the model
 * that becomes one of it, which has the same slots, or fewer. */
static struct tally *kept_counters(const struct model *from, const struct columns *c, uint32_t mark,
				   const struct columns *was)
{
	struct tally *list = xcalloc(c->slots->count + 1ul, sizeof *list), none = { 0 };
	struct live *held = mark ? model_held_at(from, c->slots, mark) : NULL;
	struct peak_at at = { 0 };
	struct peak_cell cell;

	while (!mark && peak_next(&c->peak, &at, &cell))
		list[cell.slot] = cell.then;
	for (uint32_t a = 0; held && a < c->slots->count; a++) {
		struct tally before = a < was->slots->count ? columns_now(was, a) : none;
		list[a] = counters_at(c, a, from->marks.list[mark].epoch, &held[a], &before);
	}
	free(held);
	return list;
}

/* sum: of all slots; moves with them. */
static int recall_counters(struct model *m, const struct model *from, uint32_t mark,
			   struct tally *sum, struct err *err)
{
	const struct columns *c = model_columns(from), *was = model_columns(m);
	struct tally *list = kept_counters(from, c, mark, was);
	struct event e = { .type = MTW_COUNTS };
	uint32_t end = c->slots->ids.end;
	int rc = 0;

	for (uint32_t id = 0; id < end && !rc; id++) {
		uint32_t slot = slots_find(c->slots, id);
		if (slot >= was->slots->count)
			continue;
		struct tally before = columns_now(was, slot),
			     more = tally_sub(&list[slot], &before);
		if (!(more.alloc_blocks | more.alloc_bytes | more.free_blocks | more.free_bytes))
			continue;
		tally_add(sum, &more);
		e.u.counts.slot = id;
		e.u.counts.now = list[slot];
		rc = model_apply(m, &e, err);
	}
	free(list);
	return rc;
}

/* The totals' peak may be later than a mark: then it is the highest point up to that. */
static void limit_peak(struct totals *t, const struct series *x, uint64_t until, bool later)
{
	if (later && t->peak_time_ns > until) {
		t->peak_bytes = t->peak_error_bytes = 0;
		for (size_t i = 0; i < x->count && x->points[i].time_ns <= until; i++)
			if (x->points[i].live_bytes > t->peak_bytes) {
				t->peak_bytes = x->points[i].live_bytes;
				t->peak_time_ns = x->points[i].time_ns;
			}
	}
	if (live_bytes(&t->sum) > t->peak_bytes) {
		t->peak_bytes = live_bytes(&t->sum);
		t->peak_time_ns = until;
	}
}

static uint64_t kept_time(const struct model *m, uint32_t mark)
{
	return mark ? m->marks.list[mark].time_ns : m->peak.at.time_ns;
}

uint32_t model_kept_at(const struct model *m, uint64_t time_ns)
{
	for (uint32_t id = 1; id < m->marks.limit; id++)
		if (m->marks.list[id].time_ns == time_ns && model_mark_says(m, id))
			return id;
	return m->peak.whole && m->peak.at.time_ns == time_ns ? KEPT_PEAK : NO_ID;
}

/* The tick of that instant. */
static int recall_heap(struct model *m, const struct model *from, uint32_t mark, struct err *err)
{
	uint64_t at = kept_time(from, mark);
	struct event e = { .type = MTW_TOTALS }, tick = { .type = MTW_TICK };
	struct totals *t = &e.u.totals;

	*t = m->complete ? m->totals : from->totals;
	t->sum = m->complete ? m->totals.sum : (struct tally){ 0 };
	if (recall_counters(m, from, mark, &t->sum, err))
		return -1;
	t->time_ns = at;
	if (!m->complete) {
		t->slots_total = t->slots_sent = columns_slots(&m->maker->columns);
		t->live_sent_bytes = live_bytes(&t->sum);
	}
	limit_peak(t, &from->history.series, at, mark);
	tick.u.tick.time_ns = at > m->time_ns ? at : m->time_ns;
	tick.u.tick.flags = MTW_TICK_COMPLETE;
	return model_apply(m, &e, err) || model_apply(m, &tick, err) ? -1 : 0;
}

int model_recall(struct model *m, const struct model *from, uint32_t mark, struct err *err)
{
	const struct series *known = &m->history.series;
	struct taking t = { m, err };

	if (model_seed(m, from, err) || dump_past(from, kept_time(from, mark), m, take_frame, &t))
		return -1;
	if (!m->complete && known->count)
		m->figures.rss = known->points[known->count - 1].rss_bytes;
	return recall_heap(m, from, mark, err);
}

void model_want_interval(struct model *m, const struct model *as)
{
	m->interval.base_wanted = as->interval.base_wanted;
	m->interval.until_wanted = as->interval.until_wanted;
	interval_resume(m);
}

static bool same_structure(const struct model *a, const struct model *b)
{
	const struct skeleton *x = model_columns(a)->skeleton, *y = model_columns(b)->skeleton;
	uint32_t nodes = x->nodes < y->nodes ? x->nodes : y->nodes;

	for (uint32_t i = 0; x != y && i < nodes; i++)
		if (x->id[x->node_of[i]] != y->id[y->node_of[i]])
			return false;
	return true;
}

static uint64_t past_both(uint64_t a, uint64_t b)
{
	return (a > b ? a : b) + 1;
}

/* Keeps what belongs to the object and not to its contents: who hears of notices, the ends
 * that were pinned, and the counters that make readers look again. */
static void keep_own(struct model *m, const struct model *was, bool same)
{
	memcpy(m->interval.pinned, was->interval.pinned, sizeof m->interval.pinned);
	m->on_notice = was->on_notice;
	m->notice_arg = was->notice_arg;
	m->resets = was->resets + !same;
	m->ticks = past_both(m->ticks, was->ticks);
	m->marks.generation = past_both(m->marks.generation, was->marks.generation);
	m->marks.chain = past_both(m->marks.chain, was->marks.chain);
	m->samples.generation = past_both(m->samples.generation, was->samples.generation);
	m->cohorts.scans = past_both(m->cohorts.scans, was->cohorts.scans);
}

void model_swap(struct model *a, struct model *b)
{
	model_mine(a);
	model_mine(b);
	bool same = same_structure(a, b), paced = a->maker->paced || b->maker->paced;
	struct model *was = xmalloc(sizeof *was);

	*was = *a;
	*a = *b;
	*b = *was;
	struct model *other = xmalloc(sizeof *other);
	*other = *a;
	keep_own(a, was, same);
	keep_own(b, other, same);
	a->maker->paced = b->maker->paced = paced;
	a->maker->awaited = b->maker->awaited = past_both(a->maker->awaited, b->maker->awaited);
	/* its last snapshot is of another instant: the next one is made at once */
	a->maker->resets = UINT64_MAX;
	free(other);
	free(was);
}

uint32_t model_pin(struct model *m, unsigned end, const struct model *then, const char *name,
		   struct err *err)
{
	const struct columns *c = model_columns(then);
	struct mark *k = &m->interval.pinned[end];
	uint32_t *ids = slots_ids(c->slots);
	struct quota own = { 0 };
	int rc = 0;

	cells_drop(&k->cells);
	*k = (struct mark){
		.id = PINNED_FIRST + end,
		.known = true,
		.live_known = true,
		.epoch = then->estimated ? UINT32_MAX : 0, /* model_mark_estimate() */
		.time_ns = then->time_ns,
		.rss_bytes = then->figures.rss,
		.totals = then->totals.sum,
	};
	snprintf(k->name, sizeof k->name, "%s", name);
	for (uint32_t a = 0; a < c->slots->count && !rc; a++) {
		struct tally now = columns_now(c, a);
		struct live live = live_of(&now);
		if (live.blocks | live.bytes)
			rc = cells_add(&own, &k->cells,
				       (struct mark_cell){ ids[a], live.blocks, live.bytes }, err);
	}
	cells_finish(&own, &k->cells);
	free(ids);
	if (m->interval.base == k->id || m->interval.until == k->id)
		m->interval.generation++;
	return rc ? NO_ID : k->id;
}

uint32_t model_end_find(const struct model *m, const char *word)
{
	int mark = model_mark_find(m, word);

	for (unsigned i = 0; i < PINNED_COUNT && mark < 0; i++)
		if (m->interval.pinned[i].known && !strcmp(m->interval.pinned[i].name, word))
			return PINNED_FIRST + i;
	return mark < 0 ? NO_ID : (uint32_t)mark;
}
