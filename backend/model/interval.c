/* SPDX-License-Identifier: MIT
 *
 * interval.c - the interval over which changes are counted, and what was alive at marks.
 *
 * The live amounts at a mark are put together from the chain of marks (model/history/marks.c).
 */
#include "model/interval.h"

#include "heap/room.h"
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>

bool model_mark_says(const struct model *m, uint32_t mark)
{
	const struct mark *pinned = interval_pinned(&m->interval, mark);

	if (!mark || pinned)
		return !mark || pinned->known;
	return mark < m->marks.limit && mark_in_chain(&m->marks.list[mark]) &&
	       mark <= model_marks_whole(m);
}

uint32_t model_marks_whole(const struct model *m)
{
	uint32_t id = 0;

	while (id + 1 < m->marks.limit &&
	       (!mark_in_chain(&m->marks.list[id + 1]) || m->marks.list[id + 1].live_known))
		id++;
	return id;
}

uint64_t model_marks_chain(const struct model *m)
{
	return m->marks.chain;
}

static void walk_start(struct mark_walk *w, uint32_t slots)
{
	if (w->held && w->slots >= slots)
		return;
	struct live *held = room_large(slots + 1ul, sizeof *held);
	if (w->held)
		memcpy(held, w->held, (w->slots + 1ul) * sizeof *held);
	free(w->held);
	w->held = held;
	w->slots = slots;
}

/* number: passed to fn. epoch: slots born after it were not alive. */
static bool walk_cells(const struct slots *slots, struct mark_walk *w, const struct mark_cells *k,
		       uint32_t number, uint64_t epoch, mark_walk_fn fn, void *arg)
{
	struct mark_cell c;

	while (cells_next(k, &w->at, &c)) {
		uint32_t slot = slots_find(slots, c.slot);
		if (slot == NO_ID) {
			w->missed = true;
			continue;
		}
		struct live *held = &w->held[slot], was = *held;
		*held = slots->epoch[slot] > epoch ? (struct live){ 0, 0 }
						   : (struct live){ c.blocks, c.bytes };
		if (!fn(arg, number, slot, &was, held))
			return false;
	}
	w->at = (struct cell_at){ 0 };
	w->mark++;
	return true;
}

bool mark_walk(const struct model *m, const struct slots *slots, struct mark_walk *w, uint32_t last,
	       mark_walk_fn fn, void *arg)
{
	static const struct mark_cells none;

	walk_start(w, slots->count);
	w->mark += !w->mark; /* marks are counted from 1 */
	while (w->mark <= last && w->mark < m->marks.limit) {
		const struct mark *k = &m->marks.list[w->mark];
		if (!walk_cells(slots, w, mark_in_chain(k) ? &k->cells : &none, w->mark, k->epoch,
				fn, arg))
			return false;
	}
	return true;
}

bool sample_walk(const struct model *m, const struct slots *slots, struct mark_walk *w,
		 mark_walk_fn fn, void *arg)
{
	walk_start(w, slots->count);
	while (w->mark < m->samples.count) {
		const struct sample *k = &m->samples.list[w->mark];
		if (!walk_cells(slots, w, &k->cells, k->f.serial, UINT64_MAX, fn, arg))
			return false;
	}
	return true;
}

void mark_walk_end(struct mark_walk *w)
{
	free(w->held);
	*w = (struct mark_walk){ 0 };
}

struct mark_chain mark_chain(const struct model *m, uint32_t mark)
{
	const struct mark *pinned = interval_pinned(&m->interval, mark);
	struct mark_chain x = { 0 };

	if (!model_mark_says(m, mark))
		return x;
	x.list = xcalloc(pinned ? 1 : mark + 1ul, sizeof *x.list);
	if (pinned) {
		x.list[x.count++] = (struct chained){ cells_hold(&pinned->cells), UINT64_MAX };
		return x;
	}
	for (uint32_t id = 1; id <= mark; id++) {
		const struct mark *k = &m->marks.list[id];
		if (mark_in_chain(k))
			x.list[x.count++] = (struct chained){ cells_hold(&k->cells), k->epoch };
	}
	return x;
}

static bool go_on(void *arg, uint32_t mark, uint32_t slot, const struct live *was,
		  const struct live *is)
{
	(void)arg, (void)mark, (void)slot, (void)was, (void)is;
	return true;
}

struct live *mark_chain_live(const struct mark_chain *x, const struct slots *slots)
{
	struct mark_walk w = { 0 };

	walk_start(&w, slots->count);
	for (uint32_t i = 0; i < x->count; i++)
		walk_cells(slots, &w, &x->list[i].cells, 0, x->list[i].epoch, go_on, NULL);
	return w.held;
}

void mark_chain_drop(struct mark_chain *x)
{
	while (x->count)
		cells_drop(&x->list[--x->count].cells);
	free(x->list);
	*x = (struct mark_chain){ 0 };
}

struct live *model_held_at(const struct model *m, const struct slots *s, uint32_t mark)
{
	struct mark_chain x = mark_chain(m, mark);
	struct live *held = model_mark_says(m, mark) ? mark_chain_live(&x, s) : NULL;

	mark_chain_drop(&x);
	return held;
}

void interval_clear(struct interval *x)
{
	x->base = x->until = 0;
	for (unsigned i = 0; i < PINNED_COUNT; i++) {
		cells_drop(&x->pinned[i].cells);
		x->pinned[i].known = false;
	}
}

static int take(struct model *m, uint32_t from, uint32_t to)
{
	if (!model_mark_says(m, from) || !model_mark_says(m, to))
		return -1;
	m->interval.base = from;
	m->interval.until = to;
	m->interval.generation++;
	return 0;
}

int model_set_interval(struct model *m, uint32_t from, uint32_t to)
{
	if (take(m, from, to))
		return -1;
	m->interval.base_wanted = from;
	m->interval.until_wanted = to;
	return 0;
}

/* A mark's live amounts arrive again: the interval is restored when they are complete. */
void interval_unsettle(struct model *m, uint32_t id)
{
	if (m->interval.base >= id || m->interval.until >= id)
		take(m, 0, 0);
}

/* The mark has lost its live amounts; its cells belong to another mark. */
void interval_without(struct model *m, uint32_t id)
{
	if (m->interval.base == id || m->interval.until == id)
		model_set_interval(m, 0, 0);
}

/* Takes the wanted interval once it is possible. */
void interval_resume(struct model *m)
{
	uint32_t from = m->interval.base_wanted, to = m->interval.until_wanted;

	if (m->complete && (from != m->interval.base || to != m->interval.until))
		take(m, from, to); /* or its cells are still under way */
}

uint64_t model_intervals(const struct model *m)
{
	return m->interval.generation;
}

void model_set_of_sessions(struct model *m)
{
	m->interval.of_sessions = true;
}

bool model_of_sessions(const struct model *m)
{
	return m->interval.of_sessions;
}

uint32_t model_base(const struct model *m)
{
	return m->interval.base;
}

uint32_t model_until(const struct model *m)
{
	return m->interval.until;
}
