/* SPDX-License-Identifier: MIT
 *
 * lines.c - live memory by the lines of one source file: of all stacks whose call site is there.
 *
 * One pass over all stacks, in slices (query/state.h), runs when the file is first requested,
 * when names arrive, or when too much arrived to be followed. Then each tick's changes are added.
 * The filter does not matter.
 */
#include "query/sites/lines.h"
#include "query/steps.h"

#include <stdlib.h>
#include <string.h>

struct line {
	uint32_t number;
	struct amounts all;
};
struct lines {
	char *file;
	struct map by_line; /* line -> its place in list + 1 */
	struct line *list;
	size_t count, room;
	uint32_t at; /* nodes before it are in the sums */
	bool stale, whole;
	uint64_t resets, names;
	struct source_line *out; /* what query_lines() lends; by line */
	size_t out_count, out_room;
};

static void start(struct query *q, struct lines *l)
{
	map_clear(&l->by_line);
	l->count = 0;
	l->at = 1;
	l->stale = l->whole = false;
	l->resets = q->resets;
	l->names = names_version(q->n);
}

/* The line of a stack's call site; 0: it is not in the file, or not known. */
static uint32_t line_of(struct query *q, const struct lines *l, uint32_t index)
{
	uint32_t frame, site = owners_site_of_index(q->o, index, &frame);
	const struct name_loc *x = names_loc(q->n, names_loc_of(q->n, site));
	const struct name_frame *f = &x->frames[frame < x->count ? frame : 0];

	return f->file && !strcmp(f->file, l->file) ? f->line : 0;
}

static void add(struct query *q, struct lines *l, uint32_t index, const struct amounts *v)
{
	uint32_t number = line_of(q, l, index),
		 place = number ? map_get(&l->by_line, number, 0) : 0;

	if (!number)
		return;
	if (!place) {
		GROW(l->list, l->room, l->count + 1);
		l->list[l->count] = (struct line){ .number = number };
		place = (uint32_t)++l->count;
		map_set(&l->by_line, number, place);
	}
	amounts_add(&l->list[place - 1].all, v);
}

void lines_add_value(struct query *q, uint32_t index, const struct amounts *raw)
{
	struct lines *l = q->lines;

	if (l && !l->stale && index < l->at)
		add(q, l, index, raw);
}

void lines_stale(struct query *q)
{
	if (q->lines)
		q->lines->stale = true;
}

uint32_t lines_left(const struct query *q)
{
	uint32_t count = model_dense_count(q->m);

	return q->lines && q->lines->at < count ? count - q->lines->at : 0;
}

static bool sum_up(struct query *q, struct lines *l)
{
	uint32_t count = model_dense_count(q->m);
	struct amounts v;

	for (; l->at < count; l->at++) {
		if (l->at % NODES_A_STEP == 0 && !take_step(q))
			return false;
		const struct node *n = model_dense(q->m, l->at, NULL);
		amounts_of_node(q->m, n, false, &v);
		if (!v.sum.alloc_blocks)
			continue;
		add(q, l, l->at, &v);
	}
	return l->whole = true;
}

static int by_number(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void publish(struct lines *l)
{
	GROW(l->out, l->out_room, l->count + 1);
	l->out_count = 0;
	for (size_t i = 0; i < l->count; i++) {
		const struct amounts *v = &l->list[i].all;
		if (live_blocks(&v->sum))
			l->out[l->out_count++] =
				(struct source_line){ l->list[i].number, live_bytes(&v->sum),
						      live_blocks(&v->sum), v->sampled != 0 };
	}
	if (l->out_count)
		qsort(l->out, l->out_count, sizeof *l->out, by_number);
}

void lines_forget(struct query *q)
{
	struct lines *l = q->lines;

	if (!l)
		return;
	map_release(&l->by_line);
	free(l->file);
	free(l->list);
	free(l->out);
	free(l);
	q->lines = NULL;
}

bool lines_choose(struct query *q, const char *file)
{
	if (!file || (q->lines && strcmp(q->lines->file, file)))
		lines_forget(q);
	if (!file)
		return false;
	if (!q->lines) {
		q->lines = xcalloc(1, sizeof *q->lines);
		q->lines->file = xstrdup(file);
		q->lines->stale = true;
	}
	return true;
}

bool lines_list(struct query *q, bool ready, const struct source_line **list, size_t *count)
{
	struct lines *l = q->lines;

	if (l->resets != q->resets)
		l->out_count = 0;
	/* Names that keep coming let it come to its end first. */
	if (l->stale || l->resets != q->resets || (l->whole && l->names != names_version(q->n)))
		start(q, l);
	/* else of lines that were called otherwise */
	bool now = ready && sum_up(q, l) && l->names == names_version(q->n);
	if (now)
		publish(l);
	*list = l->out;
	*count = l->out_count;
	return now;
}
