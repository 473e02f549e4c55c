/* SPDX-License-Identifier: MIT
 *
 * judgement.c - see diff/judgement.h.
 *
 * A node of the session is the node of the call tree that has its number.
 */
#include "diff/judgement.h"

#include "diff/keys.h"

#include <stdlib.h>
#include <string.h>

static struct tally less(struct tally x, const struct tally *y)
{
	x.alloc_blocks -= y->alloc_blocks;
	x.alloc_bytes -= y->alloc_bytes;
	x.free_blocks -= y->free_blocks;
	x.free_bytes -= y->free_bytes;
	return x;
}

static void find_range(const struct diff *d, const struct tally *sums, bool b,
		       struct diff_judgement *out)
{
	size_t from = b ? d->sides_a : 0, to = b ? d->sides_count : d->sides_a;

	out->low[b] = UINT64_MAX;
	for (size_t i = from; i < to; i++) {
		uint64_t n = diff_amount(&sums[i], d->value);
		out->low[b] = n < out->low[b] ? n : out->low[b];
		out->high[b] = n > out->high[b] ? n : out->high[b];
	}
}

static void judge(const struct diff *d, const struct tally *sums, struct diff_judgement *out)
{
	struct diff_row r = { .sums = sums };

	diff_judge(d, &r);
	*out = (struct diff_judgement){ .kind = r.kind, .noise = r.noise };
	find_range(d, sums, false, out);
	find_range(d, sums, true, out);
}

/* Rows that are not complete yet come again in the next slice: none is judged. */
static bool builds(const struct query *q, size_t count, struct diff_judgement *out)
{
	bool on = query_building(q) >= 0;

	for (size_t i = 0; on && i < count; i++)
		out[i] = (struct diff_judgement){ .none = true };
	return on;
}

/* --- the call tree */

/* The stacks' sums up to each, in the order of tree->stacks: what a node has is a difference. */
struct summing {
	const struct diff_tree *tree;
	struct tally *before; /* by stack, then by session */
	struct tally acc[DIFF_SESSIONS_MAX];
};

static void sum_stacks(struct summing *x, struct query *q)
{
	const struct join *j = x->tree->d->join;
	size_t count = x->tree->d->sides_count;

	x->before = xcalloc((j->list_count + 1) * count, sizeof *x->before);
	for (size_t i = 0; i < j->list_count; i++) {
		uint32_t joined = x->tree->stacks[i];
		struct tally *to = &x->before[(i + 1) * count];
		memcpy(to, to - count, count * sizeof *to);
		if (!query_passes(q, x->tree->leaves[joined]))
			continue;
		for (size_t s = 0; s < count; s++)
			tally_add(&to[s], &join_sums(j, joined)[s]);
	}
}

static void add_node(void *arg, uint32_t node, bool below)
{
	struct summing *x = arg;
	size_t count = x->tree->d->sides_count;

	if (node >= x->tree->calls.node_count)
		return;
	const struct diff_range *r = &x->tree->ranges[node];
	for (size_t s = 0; s < count; s++) {
		struct tally sum = less(x->before[(below ? r->end : r->own) * count + s],
					&x->before[r->first * count + s]);
		tally_add(&x->acc[s], &sum);
	}
}

void diff_judge_rows(const struct diff_tree *t, struct query *q, const struct row *rows,
		     size_t count, struct diff_judgement *out)
{
	struct summing x = { .tree = t };

	if (builds(q, count, out))
		return;
	sum_stacks(&x, q);
	for (size_t i = 0; i < count; i++) {
		memset(x.acc, 0, sizeof x.acc);
		if (query_row_nodes(q, rows[i].id, add_node, &x))
			judge(t->d, x.acc, &out[i]);
		else
			out[i] = (struct diff_judgement){ .none = true };
	}
	free(x.before);
}

void diff_judge_node(const struct diff_tree *t, uint32_t node, bool inclusive,
		     struct diff_judgement *out)
{
	struct tally acc[DIFF_SESSIONS_MAX] = { 0 };
	struct diff_range r = { 0 };

	if (node < t->calls.node_count)
		r = t->ranges[node];
	for (uint32_t i = r.first; i < (inclusive ? r.end : r.own); i++)
		for (size_t s = 0; s < t->d->sides_count; s++)
			tally_add(&acc[s], &join_sums(t->d->join, t->stacks[i])[s]);
	judge(t->d, acc, out);
}

/* --- rows that sum stacks */

struct gathering {
	const struct diff_tree *tree;
	struct map of_key; /* -> row + 1 */
	struct tally *sums;
	size_t rows;
};

static void gather_begin(struct gathering *g, const struct diff_tree *t, size_t rows)
{
	*g = (struct gathering){ .tree = t, .rows = rows };
	g->sums = xcalloc(rows * t->d->sides_count + 1, sizeof *g->sums);
}

static void gather(struct gathering *g, uint64_t key, size_t joined)
{
	uint32_t row = map_get(&g->of_key, key, 0);
	size_t count = g->tree->d->sides_count;

	for (size_t s = 0; row && s < count; s++)
		tally_add(&g->sums[(row - 1) * count + s], &join_sums(g->tree->d->join, joined)[s]);
}

static void gather_end(struct gathering *g, struct diff_judgement *out)
{
	for (size_t i = 0; i < g->rows; i++)
		judge(g->tree->d, &g->sums[i * g->tree->d->sides_count], &out[i]);
	map_release(&g->of_key);
	free(g->sums);
}

void diff_judge_sites(const struct diff_tree *t, struct query *q, const struct site *sites,
		      size_t count, struct diff_judgement *out)
{
	struct gathering g;

	if (builds(q, count, out))
		return;
	gather_begin(&g, t, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t leaf = sites[i].leaf < t->calls.node_count ? sites[i].leaf : 0;
		const struct diff_range *r = &t->ranges[leaf];
		if (r->own > r->first)
			map_set(&g.of_key, diff_site(t->d, t->stacks[r->first]), (uint32_t)i + 1);
	}
	for (size_t i = 0; i < t->d->join->list_count; i++)
		if (query_passes(q, t->leaves[i]))
			gather(&g, diff_site(t->d, i), i);
	gather_end(&g, out);
}

void diff_judge_owners(const struct diff_tree *t, struct owners *o, const struct owner *list,
		       size_t count, struct diff_judgement *out)
{
	struct gathering g;

	gather_begin(&g, t, count);
	for (size_t i = 0; i < count; i++)
		map_set(&g.of_key, list[i].module, (uint32_t)i + 1);
	for (size_t i = 0; i < t->d->join->list_count; i++)
		gather(&g, owners_of_node(o, t->leaves[i])->module, i);
	gather_end(&g, out);
}

/* --- source lines */

/* The line of a stack's call site; 0: it is not in the file, or not known. */
static uint32_t line_of(const struct join *j, uint32_t side, const struct side_stack *k,
			const char *file)
{
	uint32_t best;
	const struct side_place *p =
		keys_best(j->keys, side, j->sides[side]->nodes[k->site].place, &best);
	const struct side_frame *f =
		&j->sides[best]->frames[p->first + (k->site_frame < p->count ? k->site_frame : 0)];

	return p->count && f->file && !strcmp(f->file, file) ? f->line : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

struct lines_of_b {
	struct source_line *list;
	size_t count, room;
	struct map place_of; /* line -> its place + 1 */
};

static void add_to_line(struct lines_of_b *l, uint32_t line, const struct side_stack *k)
{
	uint32_t place = map_get(&l->place_of, line, 0);

	if (!place) {
		GROW(l->list, l->room, l->count + 1);
		l->list[l->count] = (struct source_line){ .number = line };
		map_set(&l->place_of, line, place = (uint32_t)++l->count);
	}
	l->list[place - 1].live_bytes += live_bytes(&k->sum);
	l->list[place - 1].live_blocks += live_blocks(&k->sum);
	l->list[place - 1].estimate |= k->estimate;
}

size_t diff_lines(const struct diff *d, const char *file, struct source_line **list)
{
	double sessions = (double)(d->sides_count - d->sides_a);
	struct lines_of_b l = { 0 };

	for (uint32_t side = (uint32_t)d->sides_a; side < d->sides_count; side++)
		for (size_t i = 0; i < d->sides[side]->stack_count; i++) {
			const struct side_stack *k = &d->sides[side]->stacks[i];
			uint32_t line = live_blocks(&k->sum) ? line_of(d->join, side, k, file) : 0;
			if (line)
				add_to_line(&l, line, k);
		}
	map_release(&l.place_of);
	for (size_t i = 0; i < l.count; i++) {
		struct source_line *x = &l.list[i];
		x->live_bytes = diff_whole((double)x->live_bytes / sessions);
		x->live_blocks = diff_whole((double)x->live_blocks / sessions);
	}
	if (l.count)
		qsort(l.list, l.count, sizeof *l.list, by_number);
	*list = l.list;
	return l.count;
}
