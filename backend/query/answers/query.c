/* SPDX-License-Identifier: MIT
 *
 * query.c - creates and frees queries, and answers about single stacks. Trees are in
 * query/tree/tree.c (rows and their values), query/answers/rows.c (the screen) and
 * query/answers/find.c (search, opening a path); call sites in query/sites/sites.c and
 * query/answers/intervals.c; the verdict in query/answers/verdict.c; query/feed/feed.c brings ticks
 * to all of them.
 */
#include "query/feed/feed.h"
#include "query/feed/rename.h"
#include "query/sites/ages.h"
#include "query/answers/marked.h"
#include "query/sites/lines.h"
#include "query/sites/sites.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

/* Past this part of all nodes, recomputing sums is faster than adding differences. */
static size_t arrived_max(const struct query *q)
{
	return model_dense_count(q->m) / 2 + 1024;
}

/* Drops the arrivals, which are a large part of all (rare): sums will be recomputed. */
static void forget_arrived(struct query *q)
{
	q->stale = true;
	arrivals_forget(&q->arrived);
}

static void on_change(void *arg, const struct model_delta *d, size_t count)
{
	struct query *q = arg;

	if (q->stale)
		return;
	if (!d || q->arrived.left + count > arrived_max(q)) {
		forget_arrived(q);
		return;
	}
	if (count)
		arrivals_push(&q->arrived, model_keep_changes(q->m));
}

static void on_move(void *arg, const uint32_t *indices, size_t count)
{
	struct query *q = arg;

	q->sites_moved_at = q->renames;
	if (!indices || q->moved_count + count > arrived_max(q))
		q->moved_all = true;
	if (q->moved_all) {
		q->moved_at = q->moved_count = 0;
		return;
	}
	GROW(q->moved, q->moved_room, q->moved_count + count);
	for (size_t i = 0; i < count; i++)
		q->moved[q->moved_count++] = indices[i];
}

static void on_rename(void *arg, const uint32_t *locs, size_t count)
{
	struct query *q = arg;

	q->renames++;
	GROW(q->renamed_at, q->renamed_room, names_loc_count(q->n));
	for (size_t i = 0; i < count; i++)
		q->renamed_at[locs[i]] = q->renames;
	rename_note(q, locs, count);
}

struct query *query_new(struct model *m, struct symbols *s, struct owners *o)
{
	struct query *q = xcalloc(1, sizeof *q);

	q->m = m;
	q->s = s;
	q->o = o;
	q->n = owners_names(o);
	q->by = BY_LIVE;
	q->zoom_owner = NO_ID;
	q->stamp = 1;
	q->allowed = SIZE_MAX;
	q->search.node = NO_ID;
	q->stale = true;
	q->resets = model_resets(m);
	tree_clear(q);
	model_on_change(m, on_change, q);
	owners_on_move(o, on_move, q);
	owners_on_rename(o, on_rename, q);
	return q;
}

static void shown_release(struct shown *s)
{
	for (size_t i = 0; i < s->text_count; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->rows);
	free(s->place);
}

void query_free(struct query *q)
{
	if (!q)
		return;
	model_off_change(q->m, q);
	owners_on_move(q->o, NULL, NULL);
	owners_on_rename(q->o, NULL, NULL);
	sites_free(q);
	lines_forget(q);
	marked_forget(q);
	ages_forget(q);
	tree_clear(q);
	for (size_t i = 0; i < q->row_count; i++) {
		free(q->rows[i]->members);
		free(q->rows[i]);
	}
	shown_release(&q->shown);
	shown_release(&q->next);
	map_release(&q->child_of);
	map_release(&q->aside);
	free(q->rows);
	free(q->search.text);
	free(q->search.hit_of_fn);
	arrivals_forget(&q->arrived);
	free(q->moved);
	free(q->renamed_at);
	free(q->renaming.locs);
	free(q->up_leaf);
	free(q->path);
	filter_release(&q->filter);
	free(q);
}

size_t query_stack(struct query *q, uint32_t leaf, struct frame_out *out, size_t max)
{
	const struct node *n = model_node(q->m, leaf);
	uint32_t frame, site = owners_site(q->o, leaf, &frame);
	size_t count = 0;
	bool by_pointer = false;

	for (; n && n->known && n->index;
	     by_pointer = n->by_pointer, n = model_dense(q->m, n->parent, NULL)) {
		const struct location *at = model_place(q->m, n);
		if (at->kind == MTW_NODE_TRUNCATED)
			break;
		const struct symbol *s = symbols_shown(q->s, n->location);
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
				.location = n->location,
				.part = (uint32_t)i,
				.has_offset = x != NULL,
				.address = x ? x->bias + at->offset : at->offset,
				.site = n->id == site && i == frame,
				.by_pointer = by_pointer,
			};
		}
	}
	return count;
}

void query_hurry(struct query *q, uint32_t leaf, uint32_t nodes)
{
	const struct node *n = model_node(q->m, leaf);
	uint64_t done, asked;

	symbols_progress(q->s, &done, &asked);
	if (done == asked && !symbols_debuginfod(q->s))
		return;
	for (; nodes && n && n->known && n->index; nodes--, n = model_dense(q->m, n->parent, NULL))
		symbols_shown(q->s, n->location);
}

bool query_lines(struct query *q, const char *file, const struct source_line **list, size_t *count)
{
	return lines_choose(q, file) && lines_list(q, feed_stacks(q), list, count);
}
