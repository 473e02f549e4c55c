/* SPDX-License-Identifier: MIT
 *
 * order.c - sorts call sites by a column or by growth.
 */
#include "query/sites/ages.h"
#include "query/sites/sites.h"

#include <stdlib.h>
#include <string.h>

struct order {
	const struct query *q;
	const struct site_table *t;
	enum query_column by;
	bool reverse;
};

static int64_t key_of(const struct order *o, const struct site *s)
{
	switch (o->by) {
	case BY_BLOCKS: return (int64_t)live_blocks(&s->amounts.sum);
	case BY_NET: return (int64_t)(s->amounts.change.born_bytes - s->amounts.change.gone_bytes);
	case BY_BORN: return (int64_t)s->amounts.change.born_bytes;
	case BY_GONE: return (int64_t)s->amounts.change.gone_bytes;
	case BY_RATE: return (int64_t)s->amounts.rate.blocks;
	case BY_CHURN: return (int64_t)s->churn_bytes;
	/* the shortest first */
	case BY_LIFE:
		return s->life && s->life_ns < INT64_MAX ? INT64_MAX - (int64_t)s->life_ns : 0;
	case BY_ALLOC: return (int64_t)s->amounts.sum.alloc_bytes;
	case BY_AGE:
	case BY_OLDEST: return ages_key(o->q, true, s->id, o->by, o->reverse);
	default: return (int64_t)live_bytes(&s->amounts.sum);
	}
}

static int rank_of(const struct site *s)
{
	static const int ranks[] = {
		[SHAPE_STEADY] = 0, [SHAPE_SLOWING] = 1,   [SHAPE_STEP] = 2, [SHAPE_SAWTOOTH] = 3,
		[SHAPE_YOUNG] = 4,  [SHAPE_SHRINKING] = 5, [SHAPE_FLAT] = 5,
	};

	return s->flags & ROW_EXPECTED ? 6 : ranks[s->shape];
}

/* Orders by shape, then growing sites by their growth. */
static int by_growth(const struct site *x, const struct site *y)
{
	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	if (rank_of(x) >= 4 || x->net_window == y->net_window)
		return 0;
	return x->net_window < y->net_window ? 1 : -1;
}

static int by_key(const void *a, const void *b, void *order_of)
{
	const struct order *o = order_of;
	uint32_t na = *(const uint32_t *)a, nb = *(const uint32_t *)b;
	const struct site *x = &o->t->sites[na - 1]->pub, *y = &o->t->sites[nb - 1]->pub;
	int64_t kx = key_of(o, x), ky = key_of(o, y);
	int order = o->by == BY_NAME     ? strcmp(x->name, y->name)
		    : o->by == BY_GROWTH ? by_growth(x, y)
		    : kx < ky            ? 1
		    : kx > ky            ? -1
					 : 0;

	if (!order)
		order = live_bytes(&x->amounts.sum) < live_bytes(&y->amounts.sum)   ? 1
			: live_bytes(&x->amounts.sum) > live_bytes(&y->amounts.sum) ? -1
										    : 0;
	if (o->reverse)
		order = -order;
	return order ? order : site_first(x, y) ? -1 : 1;
}

static void sort_sites(const struct query *q, struct site_table *t, enum query_column by,
		       bool reverse)
{
	struct order o = { q, t, by, reverse };
	size_t with = 0;

	/* Sites without a stack have no name to compare. */
	for (size_t i = 0; i < t->order_count; i++)
		if (t->sites[t->order[i] - 1]->pub.stacks) {
			uint32_t swap = t->order[with];
			t->order[with++] = t->order[i];
			t->order[i] = swap;
		}
	qsort_r(t->order, with, sizeof *t->order, by_key, &o);
}

/* From the base to now, where there is one. */
static bool held_nothing(const struct query *q, const struct site *s)
{
	const struct change *c = &s->amounts.change;

	return q->diffing && !q->until && !live_blocks(&s->amounts.sum) &&
	       !(c->born_blocks | c->born_bytes | c->gone_blocks | c->gone_bytes);
}

/* In the order of the sort: those that held nothing, or the others. */
static void put_out(const struct query *q, struct site_table *t, bool empty)
{
	for (size_t i = 0; i < t->order_count; i++) {
		const struct site *s = &t->sites[t->order[i] - 1]->pub;
		if (!s->stacks || !s->amounts.sum.alloc_blocks || held_nothing(q, s) != empty)
			continue;
		t->out[t->out_count] = *s;
		filter_known(q, &t->out[t->out_count++].amounts);
	}
}

size_t query_sites_empty(const struct query *q)
{
	return q->sites->out_empty;
}

size_t query_sites(struct query *q, enum query_column by, bool reverse, bool resort,
		   const struct site **sites)
{
	struct site_table *t = sites_update(q);

	GROW(t->order, t->order_room, t->count + 1);
	for (; t->order_count < t->count; t->order_count++) /* new ones come last */
		t->order[t->order_count] = (uint32_t)t->order_count + 1;
	if (resort)
		sort_sites(q, t, by, reverse);
	GROW(t->out, t->out_room, t->order_count + 1);
	t->out_count = 0;
	put_out(q, t, false);
	t->out_empty = t->out_count;
	put_out(q, t, true);
	t->out_empty = t->out_count - t->out_empty;
	*sites = t->out;
	return t->out_count;
}

void query_sites_keep(const struct query *q, struct sites_kept *to)
{
	const struct site_table *t = q->sites;

	GROW(to->list, to->room, t->out_count + 1);
	memcpy(to->list, t->out, t->out_count * sizeof *t->out);
	to->count = t->out_count;
	to->empty = t->out_empty;
	site_figures_share(&to->figures, t->at_samples.figures);
}

void sites_kept_release(struct sites_kept *k)
{
	free(k->list);
	site_figures_drop(k->figures);
	*k = (struct sites_kept){ 0 };
}
