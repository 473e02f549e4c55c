/* SPDX-License-Identifier: MIT
 *
 * join.c - joins the stacks of all sessions: their call trees are one union (heap/union.h) by the
 * keys of diff/stack_keys.h, and stacks that end at one node are one. What remains is entered into
 * a union of outlines, and into one of common functions.
 *
 * The cost follows the nodes, not the stacks times their depth. Keys are exact numbers, so nothing
 * joins by chance.
 */
#include "diff/joining.h"

#include <stdlib.h>
#include <string.h>

/* Every frame counts. */
static void enter_whole(struct joining *x, size_t side)
{
	const struct join_keys *k = x->j->keys;

	union_enter(&x->trees, tree_of(x, side),
		    &(struct union_keys){ k->numbers, k->sides_keys[side].first, false }, NULL,
		    x->at[side]);
}

static void find_met(struct joining *x)
{
	const struct join_keys *k = x->j->keys;

	x->met = xcalloc(k->next + 1u, sizeof *x->met);
	for (size_t side = 0; side < x->j->count; side++) {
		const struct side_keys *of = &k->sides_keys[side];
		uint32_t end = of->first[x->j->sides[side]->names->locations];

		for (uint32_t i = of->first[0]; i < end; i++)
			x->met[k->numbers[i]] |= side < x->j->sides_a ? IN_A : IN_B;
	}
}

/* The names on the way to each stack, and whether all of it is by offset. */
static void count_names(struct joining *x, size_t side)
{
	const struct side *s = x->j->sides[side];
	const struct skeleton *t = tree_of(x, side);
	const bool *by_offset = x->j->keys->sides_keys[side].by_offset;
	uint32_t *in = xcalloc(s->names->locations + 1ul, sizeof *in); /* by location */
	uint32_t *way = xcalloc(t->nodes, sizeof *way);                /* by node: twice, + 1 */

	for (uint32_t l = 0; l < s->names->locations; l++)
		for (uint32_t i = s->names->first[l]; i < s->names->first[l + 1]; i++)
			in[l] += s->names->function[s->names->frames[i].function].function != NULL;
	for (uint32_t n = 1; n < t->nodes; n++) {
		uint32_t l = t->location[n];

		way[n] = (way[t->parent[n]] + 2 * in[l]) | !by_offset[l];
	}
	for (size_t i = 0; i < s->stack_count; i++) {
		x->named[side][i] = way[side_node(s, i)] / 2;
		x->with_names[side][i] = way[side_node(s, i)] & 1;
	}
	free(in);
	free(way);
}

static uint32_t new_joined(struct joining *x, uint32_t side, uint32_t stack)
{
	struct join *j = x->j;

	GROW(j->list, x->list_room, j->list_count + 1);
	GROW(j->sums, x->sums_room, (j->list_count + 1) * j->count);
	j->list[j->list_count] = (struct joined){ .side = side, .stack = stack };
	return (uint32_t)j->list_count++;
}

static void add_stack(struct joining *x, uint32_t side, uint32_t stack)
{
	struct join *j = x->j;
	struct tally sum = side_sum(j->sides[side], stack);
	uint32_t *number = ending_at(x, x->at[side][side_node(j->sides[side], stack)]);

	if (!*number)
		*number = new_joined(x, side, stack) + 1;
	describe(x, &j->list[*number - 1], &(struct joined){ .side = side, .stack = stack });
	tally_add(&join_sums(j, *number - 1)[side], &sum);
	j->of_stack[side][stack] = *number - 1;
}

static void say_how(struct joining *x)
{
	struct join *j = x->j;

	for (size_t i = 0; i < j->list_count; i++) {
		struct joined *e = &j->list[i];
		if (!is_on_side(j, i, false) || !is_on_side(j, i, true))
			continue;
		e->by = j->keys->one_run                   ? JOIN_RUN
			: x->with_names[e->side][e->stack] ? JOIN_NAMES
							   : JOIN_OFFSETS;
	}
}

static uint64_t member_key(uint32_t joined, const struct tally *t)
{
	return hash_mix(amounts_key(t->alloc_blocks, t->alloc_bytes) + joined);
}

/* By joined stack: some session has several of it. False: none has. */
static bool find_several(const struct join *j, bool *several)
{
	uint32_t *seen = xcalloc(j->list_count + 1, sizeof *seen); /* side + 1 that had one last */
	bool any = false;

	for (uint32_t side = 0; side < j->count; side++)
		for (size_t i = 0; i < j->sides[side]->stack_count; i++) {
			uint32_t joined = j->of_stack[side][i];

			any |= several[joined] |= seen[joined] == side + 1;
			seen[joined] = side + 1;
		}
	free(seen);
	return any;
}

/* With as many blocks and bytes on the other side, a member is the same there. */
static void find_equal(const struct join *j, const bool *several, struct map *sides)
{
	for (size_t side = 0; side < j->count; side++)
		for (size_t i = 0; i < j->sides[side]->stack_count; i++) {
			struct tally sum = side_sum(j->sides[side], i);
			uint64_t key = member_key(j->of_stack[side][i], &sum);

			if (several[j->of_stack[side][i]])
				map_set(sides, key,
					map_get(sides, key, 0) | (side < j->sides_a ? IN_A : IN_B));
		}
}

/* Does another session know more of it: lines, where this one has none? */
static bool knows_less(const struct join *j, const struct joined *e, uint32_t side, uint32_t stack)
{
	uint32_t sides[2] = { side, e->side }, stacks[2] = { stack, e->stack };
	bool lines[2];

	for (size_t i = 0; i < 2; i++) {
		const struct side *s = j->sides[sides[i]];
		uint32_t site = s->stacks[stacks[i]].site;
		const struct side_module *m = site ? side_module(s, side_location(s, site)) : NULL;

		lines[i] = m && m->lines;
	}
	return !lines[0] && lines[1];
}

/* Live bytes of A times B's sessions less of B times A's. */
static int64_t live_of_a_over_b(const struct join *j, size_t joined)
{
	const struct tally *sums = join_sums(j, joined);
	uint64_t more = 0;

	for (size_t i = 0; i < j->count; i++)
		more += live_bytes(&sums[i]) *
			(i < j->sides_a ? j->count - j->sides_a : -(uint64_t)j->sides_a);
	return (int64_t)more;
}

/*
 * Of several stacks of one session that are one here, that one is shown which changed: on the side
 * that has more now, the heaviest of those that the other side has no equal of. They differ by
 * lines, by outline also by inlined functions.
 */
static void describe_changed(const struct join *j, size_t side, const struct map *equal,
			     uint64_t *shown, uint32_t *members)
{
	const struct side *s = j->sides[side];
	bool b = side >= j->sides_a;

	memset(members, 0, j->list_count * sizeof *members);
	for (size_t i = 0; i < s->stack_count; i++)
		members[j->of_stack[side][i]]++;
	for (uint32_t i = 0; i < s->stack_count; i++) {
		uint32_t joined = j->of_stack[side][i];
		struct joined *e = &j->list[joined];
		if (members[joined] < 2 || e->by == JOIN_COMMON)
			continue;
		struct tally sum = side_sum(s, i);
		int64_t more = live_of_a_over_b(j, joined);
		if (!more || (more < 0) != b || live_bytes(&sum) <= shown[joined])
			continue;
		uint64_t in = map_get(equal, member_key(joined, &sum), 0);
		if (in == (IN_A | IN_B) || knows_less(j, e, (uint32_t)side, i))
			continue;
		shown[joined] = live_bytes(&sum);
		e->side = (uint32_t)side;
		e->stack = i;
		e->among = e->by == JOIN_OUTLINE ? members[joined] : 0;
	}
}

static void describe_by_change(struct join *j)
{
	bool *several = xcalloc(j->list_count + 1, sizeof *several);
	uint64_t *shown = xcalloc(j->list_count + 1, sizeof *shown);
	uint32_t *members = xcalloc(j->list_count + 1, sizeof *members);
	struct map equal = { 0 };

	if (!j->keys->one_run && find_several(j, several)) {
		find_equal(j, several, &equal);
		for (size_t side = 0; side < j->count; side++)
			describe_changed(j, side, &equal, shown, members);
	}
	map_release(&equal);
	free(several);
	free(members);
	free(shown);
}

static void begin(struct joining *x)
{
	size_t n = x->j->count;

	x->at = xcalloc(n, sizeof *x->at);
	x->named = xcalloc(n, sizeof *x->named);
	x->with_names = xcalloc(n, sizeof *x->with_names);
	for (size_t i = 0; i < n; i++) {
		size_t stacks = x->j->sides[i]->stack_count + 1;

		x->at[i] = xmalloc(tree_of(x, i)->nodes * sizeof **x->at);
		x->named[i] = xcalloc(stacks, sizeof **x->named);
		x->with_names[i] = xcalloc(stacks, sizeof **x->with_names);
		count_names(x, i);
	}
	find_met(x);
	union_init(&x->trees);
}

static void end(struct joining *x)
{
	for (size_t i = 0; i < x->j->count; i++) {
		free(x->at[i]);
		free(x->named[i]);
		free(x->with_names[i]);
	}
	free(x->at);
	free(x->named);
	free(x->with_names);
	free(x->met);
	free(x->of_node);
	free(x->groups);
	union_release(&x->trees);
}

struct join *join_new(const struct side *const *sides, size_t sides_a, size_t count)
{
	struct join *j = xcalloc(1, sizeof *j);
	struct joining x = { .j = j };

	j->sides = sides;
	j->sides_a = sides_a;
	j->count = count;
	j->of_stack = xcalloc(count, sizeof *j->of_stack);
	for (size_t i = 0; i < count; i++)
		j->of_stack[i] = xcalloc(sides[i]->stack_count + 1, sizeof **j->of_stack);
	j->keys = stack_keys_new(sides, count);
	begin(&x);
	for (uint32_t i = 0; i < count; i++) {
		enter_whole(&x, i);
		for (uint32_t s = 0; s < sides[i]->stack_count; s++)
			add_stack(&x, i, s);
	}
	say_how(&x);
	joining_rest(&x, JOIN_OUTLINE);
	joining_rest(&x, JOIN_COMMON);
	describe_by_change(j);
	end(&x);
	return j;
}

void join_free(struct join *j)
{
	if (!j)
		return;
	stack_keys_free(j->keys);
	for (size_t i = 0; i < j->count; i++)
		free(j->of_stack[i]);
	free(j->of_stack);
	free(j->list);
	free(j->sums);
	free(j);
}

const char *join_by_name(enum join_by by)
{
	static const char *const names[] = { NULL, "run", "offsets", "names", "outline", "common" };

	return names[by];
}

/* Frame i of a location, by the best names. */
static struct join_frame frame_of(const struct join *j, uint32_t side, uint32_t location,
				  uint32_t best_side, uint32_t i)
{
	const struct side *s = j->sides[side], *best = j->sides[best_side];
	const struct heap_frame *f = &best->names->frames[i];
	const struct side_module *in = side_module(s, location);

	return (struct join_frame){
		.function = best->names->function[f->function].function,
		.name = best->names->function[f->function].name,
		.plain = best->functions[f->function].plain,
		.file = f->file,
		.line = f->line,
		.inlined = f->inlined,
		.tells = best->functions[f->function].tells,
		.in = in,
		.module = in ? in->name : NULL,
		.offset = s->locations[location].offset,
		.kind = s->locations[location].kind,
	};
}

size_t join_location(const struct join *j, uint32_t side, uint32_t location, struct join_frame *out,
		     size_t max)
{
	uint32_t from, best = stack_keys_best(j->keys, side, location, &from);
	uint32_t first = j->sides[from]->names->first[best],
		 count = side_frames(j->sides[from], best);

	count = count < max ? count : (uint32_t)max;
	for (uint32_t i = 0; i < count; i++)
		out[i] = frame_of(j, side, location, from, first + i);
	return count;
}

bool join_site(const struct join *j, uint32_t side, size_t stack, struct join_frame *out)
{
	const struct side *s = j->sides[side];
	const struct side_stack *k = &s->stacks[stack];

	if (!k->site)
		return false;
	uint32_t location = side_location(s, k->site), from;
	uint32_t best = stack_keys_best(j->keys, side, location, &from);
	uint32_t frame = k->site_frame < side_frames(j->sides[from], best) ? k->site_frame : 0;
	*out = frame_of(j, side, location, from, j->sides[from]->names->first[best] + frame);
	return true;
}

size_t join_frames(const struct join *j, size_t joined, struct join_frame *out, size_t max)
{
	const struct joined *e = &j->list[joined];
	const struct side *s = j->sides[e->side];
	const struct side_stack *k = &s->stacks[e->stack];
	const struct skeleton *t = s->heap->skeleton;
	size_t count = 0;

	for (uint32_t node = side_node(s, e->stack); node; node = t->parent[node]) {
		size_t n = join_location(j, e->side, t->location[node], out + count, max - count);

		if (node == k->site && k->site_frame < n)
			out[count + k->site_frame].site = true;
		count += n;
	}
	return count;
}
