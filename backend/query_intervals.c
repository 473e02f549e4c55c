/* SPDX-License-Identifier: MIT
 *
 * query_intervals.c - net by interval between successive marks, for the call sites that changed: the difference of
 * what they held at its ends.
 */
#include "query_sites.h"

#include <stdlib.h>
#include <string.h>

struct end { struct query *q; size_t place; };

/* From what is live now, back. */
static void undo(void *arg, uint32_t slot, const struct change *c)
{
	const struct end *e = arg;
	const struct node *n = model_node(e->q->m, model_slot(e->q->m, slot)->node);
	uint32_t number = n ? sites_of_index(e->q, n->index) : 0;

	if (number)
		e->q->sites->sites[number - 1]->at_end[e->place] += c->gone_bytes - c->born_bytes;
}

/*
 * What each site held at these marks. That is a walk over all slots for each of them, but what was live at a mark
 * stays so: it is kept until other stacks belong to the sites.
 */
static bool know_ends(struct query *q, struct site_table *t, const uint32_t *ends, size_t count)
{
	uint64_t marks = model_marks_generation(q->m);

	if (t->end_count == count && !memcmp(t->ends, ends, count * sizeof *ends) && t->ends_marks == marks &&
	    t->ends_version == t->version && t->ends_linked == t->linked)
		return true;
	t->end_count = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct query_site *s = t->sites[i];
		GROW(s->at_end, s->end_room, count);
		for (size_t k = 0; k < count; k++)
			s->at_end[k] = ends[k] ? live_bytes(&s->all.tally) : 0;
	}
	for (size_t k = 0; k < count; k++) {
		struct end e = { q, k };
		if (ends[k] && model_between(q->m, ends[k], 0, undo, &e))
			return false;
	}
	memcpy(t->ends, ends, count * sizeof *ends);
	t->end_count = count;
	t->ends_marks = marks;
	t->ends_version = t->version;
	t->ends_linked = t->linked;
	return true;
}

/* Modulo 2^64: of peers that lie it is anything. */
static void take_nets(struct site_table *t, size_t count)
{
	for (size_t i = 0; i < t->count; i++) {
		struct query_site *s = t->sites[i];
		GROW(s->net, s->net_room, count);
		for (size_t k = 0; k < count; k++) {
			uint64_t to = k + 1 < t->end_count ? s->at_end[k + 1] : live_bytes(&s->all.tally);
			s->net[k] = net_clamped((int64_t)(to - s->at_end[k]));
		}
	}
}

static int64_t total(const struct interval_row *r)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += r->net[i];
	return sum;
}

static int grew_first(const void *a, const void *b)
{
	const struct interval_row *x = a, *y = b;
	int64_t tx = total(x), ty = total(y);

	return tx < ty ? 1 : tx > ty ? -1 : x->site.id < y->site.id ? -1 : 1;
}

static uint64_t time_of(const struct query *q, uint32_t mark, uint64_t otherwise)
{
	return mark ? model_mark(q->m, mark)->time_ns : otherwise;
}

size_t query_intervals(struct query *q, uint32_t from, uint32_t to,
		       const struct interval_row **rows)
{
	struct site_table *t = sites_table(q);
	uint32_t ends[INTERVALS_MAX + 1];
	uint64_t ns[INTERVALS_MAX];
	size_t count = 0, n = 0;

	*rows = q->sites->rows;
	if (!t)
		return q->sites->row_count;
	t->row_count = 0;
	ends[count++] = from;
	for (uint32_t id = from + 1; id < model_mark_limit(q->m) && count < INTERVALS_MAX && (!to || id < to);
	     id++) {
		const struct mark *k = model_mark(q->m, id);
		if (k && k->known && k->live_known &&
		    !(k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY)))
			ends[count++] = id;
	}
	ends[count] = to;
	if (!know_ends(q, t, ends, to ? count + 1 : count))
		return 0;
	take_nets(t, count);
	for (size_t i = 0; i < count; i++)
		ns[i] = time_of(q, ends[i + 1], model_time(q->m)) - time_of(q, ends[i], 0);
	GROW(t->rows, t->row_room, t->count + 1);
	for (size_t i = 0; i < t->count; i++) {
		struct interval_row r = { t->sites[i]->pub, t->sites[i]->net, count };
		bool changed = false;
		for (size_t k = 0; k < count; k++)
			changed |= r.net[k] != 0;
		if (!changed || !r.site.stacks)
			continue;
		r.site.shape = shape_of(r.net, ns, count, live_bytes(&model_totals(q->m)->sum),
					&r.site.grew);
		r.site.intervals = (uint32_t)count;
		t->rows[n++] = r;
	}
	qsort(t->rows, n, sizeof *t->rows, grew_first);
	*rows = t->rows;
	return t->row_count = n;
}
