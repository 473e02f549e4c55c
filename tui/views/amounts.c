/* SPDX-License-Identifier: MIT */
#include "views/amounts.h"

#include "views/table_view.h"
#include "widgets/judgement.h"

/* Amounts of a peer that lies may be larger than a value holds. */
static int64_t most(uint64_t n)
{
	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

/* One amount: `known` is the member of struct amounts that tells whether it is. */
#define AMOUNT(name, number, known_by)                                                             \
	static struct value name(const struct line *l)                                             \
	{                                                                                          \
		const struct amounts *a = l->row;                                                  \
		return (struct value){ (number), (enum known)a->known_by, a->sampled != 0 };       \
	}

AMOUNT(live, most(live_bytes(&a->sum)), live)
AMOUNT(blocks, most(live_blocks(&a->sum)), live)
AMOUNT(in_all, most(a->sum.alloc_bytes), in_all)
AMOUNT(calls, most(a->rate.blocks), rated)
AMOUNT(bytes_rate, most(a->rate.bytes), rated)
AMOUNT(born, most(a->change.born_bytes), changed)
AMOUNT(gone, most(a->change.gone_bytes), changed)
AMOUNT(net, net_bytes(&a->change), changed)
AMOUNT(more_blocks, net_blocks(&a->change), changed)
AMOUNT(before, most(bytes_before(a)), live)

/* clang-format off */
COLUMN(live,        "LIVE",     8, BY_LIVE,   KIND_LIVE,       .value = live);
COLUMN(live_now,    "LIVE NOW", 8, BY_LIVE,   KIND_LIVE,       .value = live);
COLUMN(held,        "LIVE",     8, BY_LIVE,   KIND_BYTES,      .value = live);
COLUMN(blocks,      "BLOCKS",   8, BY_BLOCKS, KIND_COUNT,      .value = blocks, .wide = 10);
COLUMN(in_all,      "IN ALL",   8, BY_ALLOC,  KIND_ALLOCATED,  .value = in_all);
COLUMN(calls,       "CALLS/s",  8, BY_RATE,   KIND_CALLS,      .value = calls);
COLUMN(bytes_rate,  "BYTES/s",  8, BY_BYTES_RATE, KIND_BYTES_RATE, .value = bytes_rate);
COLUMN(born,        "BORN",     8, BY_BORN,   KIND_BYTES,      .value = born);
COLUMN(gone,        "GONE",     8, BY_GONE,   KIND_BYTES,      .value = gone);
COLUMN(net,         "NET",      9, BY_NET,    KIND_NET,        .value = net);
COLUMN(more_blocks, "BLOCKS+",  8, -1,        KIND_COUNT_NET,  .value = more_blocks);
COLUMN(net_blocks,  "BLOCKS",   8, -1,        KIND_COUNT_NET,  .value = more_blocks);
COLUMN(a,           "A",        8, -1,        KIND_BYTES,      .value = before);
COLUMN(b,           "B",        8, BY_LIVE,   KIND_BYTES,      .value = live);
/* clang-format on */

static void judged(const struct line *l, struct cell c)
{
	judgement_cell(c, &((const struct table_view *)l->view)->judged[l->index]);
}

COLUMN(judged, JUDGEMENT_TITLE, 6, -1, KIND_OWN, .own = judged);

static const struct age *age_of(const struct line *l)
{
	const struct table_view *t = l->view;

	return ages_at(&t->ages, l->index, view_table(&t->v)->id(l->view, l->index));
}

static struct value seconds(const struct age *a, uint32_t s)
{
	return a->known ? (struct value){ .n = (int64_t)s * 1000000000 } : value_none();
}

static struct value median(const struct line *l)
{
	const struct age *a = age_of(l);

	return seconds(a, a->median_s);
}

static struct value oldest(const struct line *l)
{
	const struct age *a = age_of(l);

	return seconds(a, a->oldest_s);
}

COLUMN(age, "AGE", 7, BY_AGE, KIND_AGE, .value = median);
COLUMN(oldest, "OLDEST", 7, BY_OLDEST, KIND_AGE, .value = oldest);

static struct value procs(const struct line *l)
{
	const struct table_view *t = l->view;
	size_t n = procs_at(&t->procs, l->index, view_table(&t->v)->id(l->view, l->index));

	return n && n != SIZE_MAX ? (struct value){ .n = (int64_t)n } : value_none();
}

COLUMN(procs, "PROCS", 5, -1, KIND_COUNT, .value = procs);
