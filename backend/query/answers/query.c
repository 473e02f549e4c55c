/* SPDX-License-Identifier: MIT
 *
 * query.c - creates and frees queries, and answers about single stacks. query/now.c takes
 * snapshots. Trees are in query/tree/tree.c (rows and their values), query/answers/rows.c (the
 * screen) and query/answers/find.c (search, opening a path); call sites in query/sites/sites.c and
 * query/answers/intervals.c; the verdict in query/answers/verdict.c.
 */
#include "query/answers/marked.h"
#include "query/sites/ages.h"
#include "query/sites/lines.h"
#include "query/sites/sites.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

struct query *query_new(struct model *m, struct symbols *s, struct owners *o)
{
	struct query *q = xcalloc(1, sizeof *q);

	q->m = m;
	q->s = s;
	q->o = o;
	q->n = owners_names(o);
	q->by = BY_LIVE;
	q->zoom_owner = NO_ID;
	q->structure = q->stamp = 1;
	q->filter.age_max = UINT32_MAX;
	tree_clear(q);
	return q;
}

static void rows_release(struct shown_rows *r)
{
	for (size_t i = 0; i < r->text_count; i++)
		free(r->texts[i]);
	free(r->texts);
	free(r->rows);
}

static void shown_release(struct shown *s)
{
	rows_release(&s->rows);
	rows_release(&s->kept);
	free(s->place);
	free(s->was);
}

void query_free(struct query *q)
{
	if (!q)
		return;
	query_mine(q);
	sites_free(q);
	lines_forget(q);
	marked_forget(q);
	ages_forget(q);
	tree_clear(q);
	for (size_t i = 0; i < q->row_count; i++)
		free(q->rows[i]);
	shown_release(&q->shown);
	map_release(&q->child_of);
	free(q->rows);
	free(q->looked);
	free(q->path);
	free(q->group_of);
	free(q->site_sums);
	free(q->site_of_fn);
	free(q->search.text);
	free(q->search.hit_of_fn);
	filter_release(&q->filter);
	heap_drop(q->raw);
	heap_drop(q->heap);
	free(q);
}

struct amounts query_node(struct query *q, uint32_t node, bool below)
{
	query_now(q);
	uint32_t n = skeleton_find(q->raw->skeleton, node);

	if (n == NO_ID)
		return (struct amounts){ 0 };
	return (below ? heap_amounts : heap_self_amounts)(q->raw, n);
}

size_t query_stack(struct query *q, uint32_t leaf, struct frame_out *out, size_t max)
{
	query_now(q);
	uint32_t frame, site = owners_site(q->o, leaf, &frame);
	struct skeleton *tree = skeleton_hold(q->raw->skeleton); /* names may come meanwhile */
	uint32_t n = skeleton_find(tree, leaf);
	size_t count = 0;
	bool by_pointer = false;

	for (; n != NO_ID && n;
	     by_pointer = bit_of(tree->by_pointer_bits, n), n = tree->parent[n]) {
		const struct location *at = model_location(q->m, tree->location[n]);
		if (at->kind == MTW_NODE_TRUNCATED)
			break;
		const struct symbol *s = symbols_shown(q->s, tree->location[n]);
		const struct module *x = model_module(q->m, at->module);
		size_t frames = s->source == SYMBOL_PENDING || !s->count ? 1 : s->count;
		for (size_t i = 0; i < frames && count < max; i++) {
			const struct symbol_frame *f = i < s->count ? &s->frames[i] : NULL;
			out[count++] = (struct frame_out){
				.function = f ? f->function : NULL,
				.file = f ? f->file : NULL,
				.line = f ? f->line : 0,
				.inlined = f && f->inlined,
				.module = x                              ? x->name
					  : at->kind == MTW_NODE_NOWHERE ? GENERATED_NAME
									 : NULL,
				.module_id = at->module,
				.offset = at->offset,
				.location = tree->location[n],
				.part = (uint32_t)i,
				.has_offset = x != NULL,
				.address = x ? x->bias + at->offset : at->offset,
				.site = tree->id[n] == site && i == frame,
				.by_pointer = by_pointer,
			};
		}
	}
	skeleton_drop(tree);
	return count;
}

void query_hurry(struct query *q, uint32_t leaf, uint32_t nodes)
{
	uint64_t done, asked;

	symbols_progress(q->s, &done, &asked);
	if (!q->raw || (done == asked && !symbols_debuginfod(q->s)))
		return;
	const struct skeleton *s = q->raw->skeleton; /* also while a thread answers from it */
	uint32_t n = skeleton_find(s, leaf);
	for (; nodes && n != NO_ID && n; nodes--, n = s->parent[n])
		symbols_shown(q->s, s->location[n]);
}

bool query_lines(struct query *q, const char *file, const struct source_line **list, size_t *count)
{
	return lines_choose(q, file) && lines_list(q, list, count);
}
