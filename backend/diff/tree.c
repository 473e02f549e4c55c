/* SPDX-License-Identifier: MIT
 *
 * tree.c - see diff/tree.h. A joined stack is entered as the session has it that describes it; all
 * sessions' amounts count there.
 */
#include "diff/tree.h"

#include "base/map.h"

#include <stdlib.h>

#define FRAMES_MAX 4096          /* of one location */
#define NO_LINE (DIFF_LINES - 1) /* until one is entered */

struct making {
	struct diff_tree *t;
	struct map of_key; /* -> number of a frame + 1 */
	struct join_frame *frames;
	/* of one side: its locations' keys and lines, its nodes to enter, and where they are */
	uint32_t *first, *keys, *lines, *at;
	size_t key_count, key_room, line_room;
	uint64_t *wanted;
	uint32_t *line; /* by the union's order of arrival */
	size_t arrival_room;
	uint32_t arrivals;
	uint32_t *leaves; /* by joined stack, likewise */
};

/* Equal for one function of one library, whatever build and clone of it; by_line: for one line. */
static uint64_t key_of(const struct diff_tree *t, const struct join_frame *f)
{
	const char *name = f->plain ? f->plain : f->name, *role = f->in ? f->in->role : NULL;
	uint64_t key = hash_mix((uint64_t)(uintptr_t)name) ^ (uint64_t)(uintptr_t)role;

	return t->by_line ? hash_mix(key) + f->line : key;
}

static uint32_t number_of(struct making *x, const struct join_frame *f)
{
	struct diff_tree *t = x->t;
	uint64_t key = key_of(t, f);
	uint32_t number = map_get(&x->of_key, key, 0);

	if (!number) {
		GROW(t->frames, t->frame_room, t->frame_count + 1);
		t->frames[t->frame_count++] = *f;
		map_set(&x->of_key, key, number = (uint32_t)t->frame_count);
	}
	if (!t->frames[number - 1].file)
		t->frames[number - 1].file = f->file;
	return number - 1;
}

/* The paths of the joined stacks that this side describes. */
static void find_wanted(struct making *x, uint32_t side)
{
	const struct join *j = x->t->d->join;
	const struct skeleton *s = j->sides[side]->heap->skeleton;

	x->wanted = xcalloc(s->nodes / 64 + 1ul, sizeof *x->wanted);
	for (size_t i = 0; i < j->list_count; i++) {
		if (j->list[i].side != side)
			continue;
		uint32_t n = side_node(j->sides[side], j->list[i].stack);
		for (; n && !bit_of(x->wanted, n); n = s->parent[n])
			x->wanted[n / 64] |= 1ull << n % 64;
	}
}

static void find_keys(struct making *x, uint32_t side)
{
	const struct side *s = x->t->d->sides[side];
	const struct skeleton *tree = s->heap->skeleton;
	bool *used = xcalloc(s->names->locations + 1ul, sizeof *used);

	for (uint32_t n = 1; n < tree->nodes; n++)
		used[tree->location[n]] |= bit_of(x->wanted, n);
	x->key_count = 0;
	x->first = xmalloc((s->names->locations + 1ul) * sizeof *x->first);
	for (uint32_t l = 0; l < s->names->locations; l++) {
		size_t n =
			used[l] ? join_location(x->t->d->join, side, l, x->frames, FRAMES_MAX) : 0;

		x->first[l] = (uint32_t)x->key_count;
		GROW(x->keys, x->key_room, x->key_count + n);
		GROW(x->lines, x->line_room, x->key_count + n);
		while (n-- > 0) {
			x->keys[x->key_count] = number_of(x, &x->frames[n]);
			x->lines[x->key_count++] = x->frames[n].line;
		}
	}
	x->first[s->names->locations] = (uint32_t)x->key_count;
	free(used);
}

/* A node was entered as many levels as its location has frames. */
static void find_lines(struct making *x, uint32_t side)
{
	const struct heap_union *u = &x->t->calls;
	const struct skeleton *tree = x->t->d->sides[side]->heap->skeleton;

	GROW(x->line, x->arrival_room, u->nodes);
	while (x->arrivals < u->nodes)
		x->line[x->arrivals++] = NO_LINE;
	for (uint32_t n = 1; n < tree->nodes; n++) {
		uint32_t at = x->at[n], l = tree->location[n];

		if (!bit_of(x->wanted, n))
			continue;
		for (uint32_t i = x->first[l + 1]; i-- > x->first[l]; at = u->node[at].parent)
			if (x->line[at] != x->lines[i])
				x->line[at] = x->line[at] == NO_LINE ? x->lines[i] : DIFF_LINES;
	}
}

static void enter_side(struct making *x, uint32_t side)
{
	const struct join *j = x->t->d->join;
	const struct side *s = j->sides[side];

	find_wanted(x, side);
	find_keys(x, side);
	x->at = xmalloc(s->heap->skeleton->nodes * sizeof *x->at);
	union_enter(&x->t->calls, s->heap->skeleton,
		    &(struct union_keys){ x->keys, x->first, false }, x->wanted, x->at);
	find_lines(x, side);
	for (size_t i = 0; i < j->list_count; i++)
		if (j->list[i].side == side)
			union_end(&x->t->calls,
				  x->leaves[i] = x->at[side_node(s, j->list[i].stack)]);
	free(x->wanted);
	free(x->first);
	free(x->at);
}

/* By the union's order of arrival before, by its nodes after. */
static void settle(struct making *x)
{
	struct diff_tree *t = x->t;
	const struct skeleton *s;

	union_settle(&t->calls);
	s = t->calls.skeleton;
	t->line = xcalloc(s->nodes, sizeof *t->line);
	for (uint32_t a = 1; a < s->nodes; a++)
		t->line[s->node_of[a]] = x->line[a];
	t->leaves = x->leaves;
	t->joined = xmalloc((s->stacks + 1ul) * sizeof *t->joined);
	for (size_t i = t->d->join->list_count; i-- > 0;) {
		t->leaves[i] = s->node_of[t->leaves[i]];
		t->joined[skeleton_first(s, t->leaves[i])] = (uint32_t)i;
	}
}

/* What a session's stacks hold, where their joined stacks end. */
static struct heap *heap_of_side(const struct diff_tree *t, uint32_t side)
{
	const struct side *s = t->d->sides[side];
	const struct skeleton *tree = t->calls.skeleton;
	uint32_t *to = xmalloc((s->heap->sums->stacks + 1ul) * sizeof *to);

	for (uint32_t k = 0; k < s->heap->sums->stacks; k++)
		to[k] = NO_ID;
	for (size_t i = 0; i < s->stack_count; i++)
		to[s->stacks[i].number] =
			skeleton_first(tree, t->leaves[t->d->join->of_stack[side][i]]);
	struct heap *h = union_heap(&t->calls, &(struct union_part){ s->heap, to }, 1);
	free(to);
	return h;
}

void diff_tree_make(struct diff_tree *t, const struct diff *d, bool by_line)
{
	struct making x = { .t = t };

	*t = (struct diff_tree){ .d = d, .by_line = by_line };
	union_init(&t->calls);
	x.frames = xcalloc(FRAMES_MAX, sizeof *x.frames);
	x.leaves = xcalloc(d->join->list_count + 1, sizeof *x.leaves);
	for (uint32_t i = 0; i < d->sides_count; i++)
		enter_side(&x, i);
	settle(&x);
	t->heaps = xcalloc(d->sides_count, sizeof *t->heaps);
	for (uint32_t i = 0; i < d->sides_count; i++)
		t->heaps[i] = heap_of_side(t, i);
	map_release(&x.of_key);
	free(x.frames);
	free(x.keys);
	free(x.lines);
	free(x.line);
}

void diff_tree_release(struct diff_tree *t)
{
	for (size_t i = 0; i < t->d->sides_count; i++)
		heap_drop(t->heaps[i]);
	union_release(&t->calls);
	free(t->heaps);
	free(t->frames);
	free(t->line);
	free(t->leaves);
	free(t->joined);
}

void diff_tree_sums(const struct diff_tree *t, uint32_t node, struct tally sums[DIFF_SESSIONS_MAX])
{
	for (size_t i = 0; i < t->d->sides_count; i++)
		sums[i] = heap_incl(t->heaps[i], node);
}
