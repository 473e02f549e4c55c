/* SPDX-License-Identifier: MIT
 *
 * list.c - the list of owners, heaviest first, their letters, and what each held at every point of
 * the history.
 *
 * The history has the model's points. For points before memtop connected it uses the agent's own
 * figures, as far as they go. The rule that is not in force keeps its own history.
 */
#include "owners/owners_state.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_NS 15000000000u /* a straight line is drawn over so much time, and over no more */

static uint64_t *other_of(struct held *h)
{
	if (!h->other)
		h->other = xcalloc(SERIES_MAX + 1, sizeof *h->other);
	return h->other;
}

static void switch_history(struct owners *o)
{
	const struct point *points;
	size_t count = model_history(o->m, &points);
	struct past columns = o->columns;
	uint64_t series[SERIES_MAX + 1];

	o->columns = o->other;
	o->other = columns;
	for (size_t h = 0; h < o->held_count; h++) {
		memcpy(series, o->held[h]->series, sizeof series);
		memcpy(o->held[h]->series, other_of(o->held[h]), sizeof series);
		memcpy(o->held[h]->other, series, sizeof series);
	}
	o->since_ns = count ? points[count - 1].time_ns : 0;
}

const bool *owners_known(const struct owners *o)
{
	return o->columns.known;
}

static int heavier(const void *a, const void *b)
{
	const struct owner *x = *(const struct owner *const *)a,
			   *y = *(const struct owner *const *)b;
	uint64_t lx = live_bytes(&x->amounts.sum), ly = live_bytes(&y->amounts.sum);

	if (lx != ly)
		return lx < ly ? 1 : -1;
	return strcmp(x->name, y->name);
}

static size_t column_of(const struct past *c, uint64_t time_ns)
{
	size_t lo = 0, hi = c->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (c->times[mid] < time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->count && c->times[lo] == time_ns ? lo : SIZE_MAX;
}

/* Interpolates from one point, where it held `then`, to the last one, which is now. */
static uint64_t between(const struct point *points, size_t from, size_t p, size_t last,
			uint64_t then, uint64_t now)
{
	uint64_t span = points[last].time_ns - points[from].time_ns;

	if (p >= last || !span)
		return now;
	return (uint64_t)((double)then + (double)(points[p].time_ns - points[from].time_ns) /
						 (double)span * ((double)now - (double)then));
}

/* Is point p known without kept amounts? Yes, if it is the newest, or if the current rule covers
 * it and the gap around it is at most NEAR_NS. */
static bool filled_in(const struct owners *o, const struct point *points, size_t from, size_t p,
		      size_t last)
{
	return p == last || (points[p].time_ns >= o->since_ns &&
			     points[last].time_ns - points[from].time_ns <= NEAR_NS);
}

/* Handles new points when none was dropped. */
static void add_columns(struct owners *o, const struct point *points, size_t count)
{
	size_t from = o->columns.count - 1;

	for (size_t p = from + 1; p < count; p++) {
		o->columns.times[p] = points[p].time_ns;
		o->columns.known[p] = filled_in(o, points, from, p, count - 1);
		for (size_t h = 0; h < o->held_count; h++)
			o->held[h]->series[p] =
				between(points, from, p, count - 1, o->held[h]->series[from],
					live_bytes(&o->held[h]->pub.amounts.sum));
	}
	o->columns.count = count;
}

/*
 * Fills each owner's amount at point p: a kept column, or the agent's own figure; between the last
 * known point and now, a straight line. It stays unknown where another rule was in force, or
 * nothing recorded it.
 */
static void fill_columns(struct owners *o, const struct point *points, size_t count)
{
	const uint32_t *modules;
	size_t from_agent = model_history_owners(o->m, &modules), from = 0;
	uint64_t(*made)[SERIES_MAX + 1] = xcalloc(o->held_count, sizeof *made);
	bool known[SERIES_MAX + 1];

	for (size_t p = 0; p < count; p++) {
		size_t column =
			p + 1 < count ? column_of(&o->columns, points[p].time_ns) : SIZE_MAX;
		const uint64_t *bytes = o->direct ? NULL : model_history_owner_bytes(o->m, p);
		if (column != SIZE_MAX || bytes)
			from = p;
		known[p] = column != SIZE_MAX ? o->columns.known[column]
					      : bytes || filled_in(o, points, from, p, count - 1);
		for (size_t h = 0; h < o->held_count && known[p] && (column != SIZE_MAX || !bytes);
		     h++)
			made[h][p] = column != SIZE_MAX
					     ? o->held[h]->series[column]
					     : between(points, from, p, count - 1, made[h][from],
						       live_bytes(&o->held[h]->pub.amounts.sum));
		for (size_t k = 0; column == SIZE_MAX && bytes && k < from_agent; k++)
			made[owner_held(o, modules[k])][p] += bytes[k];
	}
	for (size_t h = 0; h < o->held_count; h++)
		memcpy(o->held[h]->series, made[h], count * sizeof(uint64_t));
	for (size_t p = 0; p < count; p++) {
		o->columns.times[p] = points[p].time_ns;
		o->columns.known[p] = known[p];
	}
	o->columns.count = count;
	free(made);
}

static void update_series(struct owners *o)
{
	const struct point *points;
	const uint32_t *modules;
	size_t count = model_history(o->m, &points);
	size_t owners = model_history_owners(o->m, &modules);

	/* So that no owner appears while columns are made. */
	for (size_t k = 0; k < owners; k++)
		owner_held(o, modules[k]);
	const struct past *c = &o->columns;
	bool same = count == c->count && count &&
		    points[count - 1].time_ns == c->times[count - 1] &&
		    points[0].time_ns == c->times[0];
	if (same) {
		for (size_t h = 0; h < o->held_count; h++)
			o->held[h]->series[count - 1] = live_bytes(&o->held[h]->pub.amounts.sum);
		return;
	}
	if (c->count && count > c->count &&
	    points[c->count - 1].time_ns == c->times[c->count - 1] &&
	    points[0].time_ns == c->times[0])
		add_columns(o, points, count);
	else
		fill_columns(o, points, count);
}

void owners_forget_history(struct owners *o)
{
	o->columns.count = o->other.count = 0;
	o->since_ns = 0;
}

void owners_inherit(struct owners *o, struct owners *from)
{
	for (size_t i = 0; i < o->held_count; i++)
		o->held[i]->pub.letter = '?';
	for (size_t i = 0; i < from->held_count; i++) {
		const struct held *f = from->held[i];
		uint32_t to = f->pub.module == OWNER_UNKNOWN ? 0 : owner_held(o, f->pub.module);
		o->held[to]->pub.letter = f->pub.letter;
		memcpy(o->held[to]->series, f->series, sizeof f->series);
		if (f->other)
			memcpy(other_of(o->held[to]), f->other, sizeof f->series);
	}
	o->columns = from->columns;
	o->other = from->other;
	o->complete = from->complete;
	o->since_ns = from->since_ns;
	o->letters = from->letters;
	o->direct = from->direct;
}

static char letter(unsigned n)
{
	return n < 26 ? (char)('A' + n) : n < 52 ? (char)('a' + n - 26) : '.';
}

size_t owners_update(struct owners *o, const struct owner **list)
{
	size_t count = 0;

	owners_refresh(o);
	GROW(o->list, o->list_room, o->held_count);
	for (size_t i = 0; i < o->held_count; i++)
		if (o->held[i]->pub.amounts.sum.alloc_blocks)
			o->list[count++] = &o->held[i]->pub;
	qsort(o->list, count, sizeof *o->list, heavier);
	/* The first letters are for the heaviest. */
	for (size_t i = 0; i < count; i++) {
		struct owner *w = (struct owner *)o->list[i];
		if (w->letter == '?' && w->module != OWNER_UNKNOWN && live_bytes(&w->amounts.sum))
			w->letter = letter(o->letters++);
	}
	if (model_complete(o->m) && !o->complete)
		/* made while a first state came: of a part of the stacks */
		o->columns.count = o->other.count = 0;
	o->complete = model_complete(o->m);
	update_series(o);
	GROW(o->copies, o->copies_room, count + 1);
	for (size_t i = 0; i < count; i++) {
		o->copies[i] = *o->list[i];
		o->copies[i].amounts.changed = owners_interval_late(o) ? KNOWN_SOON : KNOWN;
	}
	*list = o->copies;
	return count;
}

bool owners_direct(struct owners *o, int on)
{
	if (on >= 0 && o->direct != (on != 0)) {
		switch_history(o);
		o->direct = !o->direct;
	}
	return o->direct;
}
