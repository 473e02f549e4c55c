/* SPDX-License-Identifier: MIT
 *
 * lines.c - live memory by the lines of one source file: of all stacks whose call site is there.
 * The filter does not matter.
 */
#include "query/sites/lines.h"

#include <stdlib.h>
#include <string.h>

struct lines {
	char *file;
	struct map by_line;       /* line -> its place in list + 1 */
	uint64_t stamp;           /* q->stamp that the list is of */
	struct source_line *list; /* what query_lines() lends; by line */
	size_t count, room;
};

static struct source_line *line_at(struct lines *l, uint32_t number)
{
	uint32_t place = map_get(&l->by_line, number, 0);

	if (!place) {
		GROW(l->list, l->room, l->count + 1);
		l->list[l->count] = (struct source_line){ .number = number };
		place = (uint32_t)++l->count;
		map_set(&l->by_line, number, place);
	}
	return &l->list[place - 1];
}

/* By frame: it lies in the file. Names of files are few, and shared by many frames. */
static uint8_t *frames_there(const struct heap_names *n, const char *file)
{
	uint32_t frames = n->first[n->locations];
	uint8_t *there = xcalloc(frames + 1ul, 1);
	const char *last = NULL;
	bool same = false;

	for (uint32_t f = 0; f < frames; f++) {
		if (n->frames[f].file != last) {
			last = n->frames[f].file;
			same = last && !strcmp(last, file);
		}
		there[f] = same && n->frames[f].line;
	}
	return there;
}

static int by_number(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void sum_up(struct query *q, struct lines *l)
{
	const struct heap *h = q->raw;
	uint8_t *there = frames_there(h->names, l->file);
	size_t kept = 0;

	map_clear(&l->by_line);
	l->count = 0;
	for (uint32_t k = 0; k < h->skeleton->stacks; k++) {
		uint32_t frame;
		heap_site_node(h->skeleton, h->names, k, &frame);
		struct tally t = heap_of_stack(h, k);
		if (frame == NO_ID || !there[frame] || !t.alloc_blocks)
			continue;
		struct source_line *line = line_at(l, h->names->frames[frame].line);
		line->live_bytes += live_bytes(&t);
		line->live_blocks += live_blocks(&t);
		line->estimate |= bit_of(h->sums->estimate_bits, k);
	}
	free(there);
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].live_blocks)
			l->list[kept++] = l->list[i];
	l->count = kept;
	if (kept)
		qsort(l->list, kept, sizeof *l->list, by_number);
}

void lines_forget(struct query *q)
{
	struct lines *l = q->lines;

	if (!l)
		return;
	map_release(&l->by_line);
	free(l->file);
	free(l->list);
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
	}
	return true;
}

bool lines_list(struct query *q, const struct source_line **list, size_t *count)
{
	struct lines *l = q->lines;

	query_now(q);
	if (l->stamp != q->stamp)
		sum_up(q, l);
	l->stamp = q->stamp;
	*list = l->list;
	*count = l->count;
	return true;
}
