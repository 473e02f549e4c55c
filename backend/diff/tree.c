/* SPDX-License-Identifier: MIT */
#include "diff/tree.h"

#include <stdlib.h>

#define FRAMES_MAX 4096

/* Equal for one function of one library, whatever build and clone of it; by_line: for one line. */
static uint64_t key_of(const struct diff_tree *t, const struct join_frame *f)
{
	const char *name = f->f->plain ? f->f->plain : f->f->name,
		   *role = f->in ? f->in->role : NULL;
	uint64_t key = hash_mix((uint64_t)(uintptr_t)name) ^ (uint64_t)(uintptr_t)role;

	return t->by_line ? hash_mix(key) + f->f->line : key;
}

static uint32_t frame_of(struct diff_tree *t, const struct join_frame *f)
{
	size_t known = t->calls.frame_count;
	uint32_t number = calls_frame(&t->calls, key_of(t, f),
				      &(struct call_frame){
					      .name = f->f->name,
					      .full = f->f->function,
					      .file = f->f->file,
					      .library = f->module,
				      });

	if (number == known) {
		GROW(t->code, t->code_room, known + 1);
		t->code[known] = (struct diff_code){ f->in, f->offset, f->kind };
	}
	return number;
}

static void enter_stacks(struct diff_tree *t)
{
	const struct join *j = t->d->join;
	struct join_frame *frames = xcalloc(FRAMES_MAX, sizeof *frames);

	t->leaves = xcalloc(j->list_count + 1, sizeof *t->leaves);
	for (size_t i = 0; i < j->list_count; i++) {
		uint32_t at = 0;

		for (size_t k = join_frames(j, i, frames, FRAMES_MAX); k-- > 0;)
			at = calls_child(&t->calls, at, frame_of(t, &frames[k]), frames[k].f->line);
		t->leaves[i] = at;
	}
	free(frames);
}

/* Parents come before their children. */
static void sum_up(struct diff_tree *t)
{
	size_t nodes = t->calls.node_count, count = t->d->sides_count;

	t->sums = xcalloc(nodes * count, sizeof *t->sums);
	t->rows = xcalloc(nodes, sizeof *t->rows);
	for (size_t i = 0; i < t->d->join->list_count; i++)
		for (size_t s = 0; s < count; s++)
			tally_add(&t->sums[t->leaves[i] * count + s], &join_sums(t->d->join, i)[s]);
	for (size_t n = nodes; n-- > 1;)
		for (size_t s = 0; s < count; s++)
			tally_add(&t->sums[t->calls.nodes[n].parent * count + s],
				  &t->sums[n * count + s]);
	for (size_t n = 0; n < nodes; n++) {
		t->rows[n].sums = &t->sums[n * count];
		diff_judge(t->d, &t->rows[n]);
	}
}

/* Which stacks end at each node, and which below it: neighbours in t->stacks. */
static void order_stacks(struct diff_tree *t)
{
	const struct calls *c = &t->calls;
	uint32_t at = 0;

	t->ranges = xcalloc(c->node_count, sizeof *t->ranges);
	t->stacks = xcalloc(t->d->join->list_count + 1, sizeof *t->stacks);
	for (size_t i = 0; i < t->d->join->list_count; i++)
		t->ranges[t->leaves[i]].own++;
	for (size_t place = 0; place < c->node_count; place++) {
		struct diff_range *r = &t->ranges[c->order[place]];
		r->first = at;
		at += r->own;
		r->own = r->end = r->first; /* until they are entered */
	}
	for (size_t i = 0; i < t->d->join->list_count; i++)
		t->stacks[t->ranges[t->leaves[i]].own++] = (uint32_t)i;
	for (size_t place = c->node_count; place-- > 0;) {
		struct diff_range *r = &t->ranges[c->order[place]],
				  *above = &t->ranges[c->nodes[c->order[place]].parent];
		r->end = r->own > r->end ? r->own : r->end;
		above->end = r->end > above->end ? r->end : above->end;
	}
}

void diff_tree_make(struct diff_tree *t, const struct diff *d, bool by_line)
{
	*t = (struct diff_tree){ .d = d, .by_line = by_line };
	calls_begin(&t->calls);
	enter_stacks(t);
	calls_order(&t->calls);
	order_stacks(t);
	sum_up(t);
}

void diff_tree_release(struct diff_tree *t)
{
	calls_release(&t->calls);
	free(t->code);
	free(t->leaves);
	free(t->stacks);
	free(t->ranges);
	free(t->rows);
	free(t->sums);
}
