/* SPDX-License-Identifier: MIT
 *
 * order.c - the order of call sites, by a column or by growth, and what their growth adds up to.
 */
#include "query/sites/internal.h"

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
	case BY_BLOCKS: return (int64_t)live_blocks(&s->sum);
	case BY_NET: return (int64_t)(s->change.born_bytes - s->change.gone_bytes);
	case BY_BORN: return (int64_t)s->change.born_bytes;
	case BY_GONE: return (int64_t)s->change.gone_bytes;
	case BY_RATE: return (int64_t)s->rate_blocks;
	case BY_CHURN: return (int64_t)s->churn_bytes;
	/* the shortest first */
	case BY_LIFE:
		return s->life && s->life_ns < INT64_MAX ? INT64_MAX - (int64_t)s->life_ns : 0;
	case BY_ALLOC: return (int64_t)s->sum.alloc_bytes;
	case BY_AGE:
	case BY_OLDEST: return ages_key(o->q, true, s->id, o->by, o->reverse);
	default: return (int64_t)live_bytes(&s->sum);
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

/* By shape; those that grew by how much. */
static int by_growth(const struct site *x, const struct site *y)
{
	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	if (rank_of(x) >= 4 || x->net_window == y->net_window)
		return 0;
	return x->net_window < y->net_window ? 1 : -1;
}

bool site_first(const struct site *x, const struct site *y)
{
	return x->leaf != y->leaf ? x->leaf < y->leaf : x->id < y->id;
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
		order = live_bytes(&x->sum) < live_bytes(&y->sum)   ? 1
			: live_bytes(&x->sum) > live_bytes(&y->sum) ? -1
								    : 0;
	if (o->reverse)
		order = -order;
	return order ? order : site_first(x, y) ? -1 : 1;
}

void sites_sort(const struct query *q, struct site_table *t, enum query_column by, bool reverse)
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

int64_t sites_steady(const struct site_table *t)
{
	uint64_t net = 0; /* modulo 2^64: of peers that lie it is anything */

	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		if (s->stacks && !(s->flags & ROW_EXPECTED) && s->shape == SHAPE_STEADY)
			net += (uint64_t)s->net_window;
	}
	return (int64_t)net;
}

int64_t sites_expected(const struct site_table *t)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		if (s->stacks && s->flags & ROW_EXPECTED && s->net_window > 0)
			sum = net_clamped(sum + s->net_window);
	}
	return sum;
}

uint32_t sites_top_growing(struct site_table *t, int64_t *net, const struct site **site)
{
	uint32_t best = 0;

	*net = 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		bool more = s->net_window > *net ||
			    (best && s->net_window == *net && site_first(s, *site));
		if (s->stacks && !(s->flags & ROW_EXPECTED) && more) {
			*net = s->net_window;
			*site = s;
			best = s->id;
		}
	}
	return best;
}
