/* SPDX-License-Identifier: MIT
 *
 * judgement.c - see diff/judgement.h.
 *
 * A node's id in the session is its number in the tree.
 */
#include "diff/judgement.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

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

struct summing {
	const struct diff_tree *tree;
	struct heap *heaps[DIFF_SESSIONS_MAX]; /* of the stacks that pass the filter */
	struct tally acc[DIFF_SESSIONS_MAX];
};

static void begin_sums(struct summing *x, const struct diff_tree *t, struct query *q)
{
	const struct skeleton *s = t->calls.skeleton;
	uint64_t *passes = xcalloc(s->stacks / 64 + 1ul, sizeof *passes);

	x->tree = t;
	for (uint32_t k = 0; k < s->stacks; k++)
		if (query_passes(q, s->node_of_stack[k]))
			passes[k / 64] |= 1ull << k % 64;
	for (size_t i = 0; i < t->d->sides_count; i++)
		x->heaps[i] = heap_part(t->heaps[i], passes, NULL);
	free(passes);
}

static void add_node(void *arg, uint32_t node, bool below)
{
	struct summing *x = arg;

	if (node >= x->tree->calls.nodes)
		return;
	for (size_t i = 0; i < x->tree->d->sides_count; i++) {
		struct tally sum =
			below ? heap_incl(x->heaps[i], node) : heap_self(x->heaps[i], node);
		tally_add(&x->acc[i], &sum);
	}
}

void diff_judge_rows(const struct diff_tree *t, struct query *q, const struct row *rows,
		     size_t count, struct diff_judgement *out)
{
	struct summing x;

	begin_sums(&x, t, q);
	for (size_t i = 0; i < count; i++) {
		memset(x.acc, 0, sizeof x.acc);
		if (query_row_nodes(q, rows[i].id, add_node, &x))
			judge(t->d, x.acc, &out[i]);
		else
			out[i] = (struct diff_judgement){ .none = true };
	}
	for (size_t i = 0; i < t->d->sides_count; i++)
		heap_drop(x.heaps[i]);
}

void diff_judge_node(const struct diff_tree *t, uint32_t node, bool inclusive,
		     struct diff_judgement *out)
{
	struct tally sums[DIFF_SESSIONS_MAX] = { 0 };

	for (size_t i = 0; node < t->calls.nodes && i < t->d->sides_count; i++)
		sums[i] = inclusive ? heap_incl(t->heaps[i], node) : heap_self(t->heaps[i], node);
	judge(t->d, sums, out);
}

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

	gather_begin(&g, t, count);
	for (size_t i = 0; i < count; i++) {
		const struct skeleton *s = t->calls.skeleton;
		uint32_t leaf = sites[i].leaf < s->nodes ? sites[i].leaf : 0;
		if (bit_of(s->stack_bits, leaf))
			map_set(&g.of_key, diff_site(t->d, t->joined[skeleton_first(s, leaf)]),
				(uint32_t)i + 1);
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

/* The line of a stack's call site; 0: it is not in the file, or not known. */
static uint32_t line_of(const struct join *j, uint32_t side, size_t stack, const char *file)
{
	struct join_frame f;

	return join_site(j, side, stack, &f) && f.file && !strcmp(f.file, file) ? f.line : 0;
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

static void add_to_line(struct lines_of_b *l, uint32_t line, const struct tally *sum, bool estimate)
{
	uint32_t place = map_get(&l->place_of, line, 0);

	if (!place) {
		GROW(l->list, l->room, l->count + 1);
		l->list[l->count] = (struct source_line){ .number = line };
		map_set(&l->place_of, line, place = (uint32_t)++l->count);
	}
	l->list[place - 1].live_bytes += live_bytes(sum);
	l->list[place - 1].live_blocks += live_blocks(sum);
	l->list[place - 1].estimate |= estimate;
}

size_t diff_lines(const struct diff *d, const char *file, struct source_line **list)
{
	double sessions = (double)(d->sides_count - d->sides_a);
	struct lines_of_b l = { 0 };

	for (uint32_t side = (uint32_t)d->sides_a; side < d->sides_count; side++) {
		const struct side *s = d->sides[side];

		for (size_t i = 0; i < s->stack_count; i++) {
			struct tally sum = side_sum(s, i);
			uint32_t line = live_blocks(&sum) ? line_of(d->join, side, i, file) : 0;

			if (line)
				add_to_line(
					&l, line, &sum,
					bit_of(s->heap->sums->estimate_bits, s->stacks[i].number));
		}
	}
	map_release(&l.place_of);
	for (size_t i = 0; i < l.count; i++) {
		struct source_line *x = &l.list[i];
		x->live_bytes = diff_round((double)x->live_bytes / sessions);
		x->live_blocks = diff_round((double)x->live_blocks / sessions);
	}
	if (l.count)
		qsort(l.list, l.count, sizeof *l.list, by_number);
	*list = l.list;
	return l.count;
}
