/* SPDX-License-Identifier: MIT
 *
 * query_intervals.c - net by interval between successive marks, for the call sites that changed.
 */
#include "query_sites.h"

#include <stdlib.h>
#include <string.h>

struct column { struct query *q; size_t column; };

static void book(void *arg, uint32_t slot, const struct change *c)
{
	const struct column *k = arg;
	const struct node *n = model_node(k->q->m, model_slot(k->q->m, slot)->node);
	uint32_t number = n ? sites_of_index(k->q, n->index) : 0;

	if (number) {
		int64_t *net = &k->q->sites->sites[number - 1]->net[k->column];
		*net = (int64_t)((uint64_t)*net + c->born_bytes - c->gone_bytes);
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
	uint32_t ends[64];
	uint64_t ns[64];
	size_t count = 0, n = 0;

	*rows = q->sites->rows;
	if (!t)
		return q->sites->row_count;
	t->row_count = 0;
	ends[count++] = from;
	for (uint32_t id = from + 1; id < model_mark_limit(q->m) && count < 62 && (!to || id < to);
	     id++) {
		const struct mark *k = model_mark(q->m, id);
		if (k && k->known && k->live_known &&
		    !(k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY)))
			ends[count++] = id;
	}
	ends[count] = to;
	for (size_t i = 0; i < t->count; i++) {
		GROW(t->sites[i]->net, t->sites[i]->net_room, count);
		memset(t->sites[i]->net, 0, count * sizeof(int64_t));
	}
	for (size_t i = 0; i < count; i++) {
		struct column k = { q, i };
		if (model_between(q->m, ends[i], ends[i + 1], book, &k))
			return 0;
		ns[i] = time_of(q, ends[i + 1], model_time(q->m)) - time_of(q, ends[i], 0);
	}
	GROW(t->rows, t->row_room, t->count + 1);
	for (size_t i = 0; i < t->count; i++) {
		struct interval_row r = { t->sites[i]->pub, t->sites[i]->net, count };
		bool changed = false;
		for (size_t k = 0; k < count; k++) {
			r.net[k] = net_clamped(r.net[k]);
			changed |= r.net[k] != 0;
		}
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
