/* SPDX-License-Identifier: MIT
 *
 * join.c - joins the stacks of all sessions in one trie of keys (diff/keys.h).
 *
 * Each node of a session has a place in the trie, found from its parent's: the cost follows the
 * nodes, not the stacks times their depth. Keys are exact numbers, so nothing joins by chance.
 */
#include "diff/join.h"

#include "diff/keys.h"

#include <stdlib.h>
#include <string.h>

struct trie {
	struct map child; /* parent, key -> place + 1 */
	/* by place: its key, and the place before it */
	uint32_t *last, *before;
	size_t room, before_room;
	uint32_t count;
};

enum { IN_A = 1, IN_B = 2 };

struct joining {
	struct join *j;
	struct trie trie;
	uint32_t **at;       /* by side and node: place in the trie */
	uint32_t **named;    /* by side and node: names on the way */
	bool **with_names;   /* by side and node: some key is not by offset */
	uint8_t *met;        /* by key: IN_A, IN_B */
	struct map of_place; /* place -> joined + 1 */
	uint32_t *place;     /* by joined stack, while what remains is joined */
	size_t room, sums_room;
};

/* --- the trie */

static uint32_t add_place(struct trie *t, uint32_t before, uint32_t key)
{
	GROW(t->last, t->room, (size_t)t->count + 1);
	GROW(t->before, t->before_room, (size_t)t->count + 1);
	t->last[t->count] = key;
	t->before[t->count] = before;
	return t->count++;
}

static uint32_t step(struct trie *t, uint32_t parent, uint32_t key)
{
	uint64_t edge = (uint64_t)parent << 32 | key;
	uint32_t at = map_get(&t->child, edge, 0);

	if (!at) {
		at = add_place(t, parent, key) + 1;
		map_set(&t->child, edge, at);
	}
	return at - 1;
}

static uint32_t step_place(struct joining *x, uint32_t at, const struct place_keys *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		at = step(&x->trie, at, x->j->keys->numbers[p->first + i]);
	return at;
}

/* A function that calls itself stays at its place. */
static uint32_t step_outline(struct joining *x, uint32_t at, const struct place_keys *p)
{
	return x->trie.last[at] == p->outline ? at : step(&x->trie, at, p->outline);
}

/* Only the functions that A and B both have. */
static uint32_t step_common(struct joining *x, uint32_t at, const struct place_keys *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t key = x->j->keys->numbers[p->first + i];
		if (x->met[key] == (IN_A | IN_B) && x->trie.last[at] != key)
			at = step(&x->trie, at, key);
	}
	return at;
}

typedef uint32_t (*step_fn)(struct joining *x, uint32_t at, const struct place_keys *p);

static void walk_side(struct joining *x, size_t side, step_fn next)
{
	const struct side *s = x->j->sides[side];
	uint32_t *at = x->at[side]; /* at[0]: the root, 0 */

	for (size_t i = 1; i < s->node_count; i++) {
		const struct side_node *n = &s->nodes[i];
		at[i] = next(x, at[n->parent], &x->j->keys->places[side][n->place]);
	}
}

static void find_met(struct joining *x)
{
	const struct join *j = x->j;

	x->met = xcalloc(j->keys->next + 1u, sizeof *x->met);
	for (size_t side = 0; side < j->count; side++)
		for (size_t i = 1; i < j->sides[side]->node_count; i++) {
			const struct place_keys *p =
				&j->keys->places[side][j->sides[side]->nodes[i].place];
			for (uint32_t k = 0; k < p->count; k++)
				x->met[j->keys->numbers[p->first + k]] |=
					side < j->sides_a ? IN_A : IN_B;
		}
}

static void count_names(struct joining *x, size_t side)
{
	const struct side *s = x->j->sides[side];

	for (size_t i = 1; i < s->node_count; i++) {
		const struct side_node *n = &s->nodes[i];
		const struct side_place *p = &s->places[n->place];
		uint32_t named = 0;
		for (uint32_t f = 0; f < p->count; f++)
			named += s->frames[p->first + f].function != NULL;
		x->named[side][i] = x->named[side][n->parent] + named;
		x->with_names[side][i] = x->with_names[side][n->parent] ||
					 !x->j->keys->places[side][n->place].by_offset;
	}
}

/* --- joined stacks */

static uint32_t new_joined(struct joining *x, uint32_t side, uint32_t stack)
{
	struct join *j = x->j;

	GROW(j->list, x->room, j->list_count + 1);
	GROW(j->sums, x->sums_room, (j->list_count + 1) * j->count);
	j->list[j->list_count] = (struct joined){ .side = side, .stack = stack };
	return (uint32_t)j->list_count++;
}

static uint32_t names_of(const struct joining *x, const struct joined *e)
{
	return x->named[e->side][x->j->sides[e->side]->stacks[e->stack].node];
}

/* The later session describes the stack, unless it has fewer names. */
static void describe(const struct joining *x, struct joined *e, const struct joined *other)
{
	if (names_of(x, other) >= names_of(x, e)) {
		e->side = other->side;
		e->stack = other->stack;
	}
}

static void add_stack(struct joining *x, uint32_t side, uint32_t stack)
{
	struct join *j = x->j;
	const struct side_stack *s = &j->sides[side]->stacks[stack];
	uint32_t place = x->at[side][s->node], number = map_get(&x->of_place, place, 0);

	if (!number) {
		number = new_joined(x, side, stack) + 1;
		map_set(&x->of_place, place, number);
	}
	describe(x, &j->list[number - 1], &(struct joined){ .side = side, .stack = stack });
	tally_add(&join_sums(j, number - 1)[side], &s->sum);
	j->of_stack[side][stack] = number - 1;
}

static bool on_side(const struct join *j, size_t joined, bool b)
{
	const struct tally *sums = join_sums(j, joined);

	for (size_t i = b ? j->sides_a : 0; i < (b ? j->count : j->sides_a); i++)
		if (sums[i].alloc_blocks || sums[i].alloc_bytes)
			return true;
	return false;
}

static void say_how(struct joining *x)
{
	struct join *j = x->j;

	for (size_t i = 0; i < j->list_count; i++) {
		struct joined *e = &j->list[i];
		uint32_t node = j->sides[e->side]->stacks[e->stack].node;
		if (!on_side(j, i, false) || !on_side(j, i, true))
			continue;
		e->by = j->keys->one_run               ? JOIN_RUN
			: x->with_names[e->side][node] ? JOIN_NAMES
						       : JOIN_OFFSETS;
	}
}

/* --- what remains in A alone or in B alone, by a part of the frames */

struct group {          /* the remaining stacks at one place */
	uint32_t first; /* joined + 1 */
	uint32_t in;    /* IN_A, IN_B */
	/* allocated, of A times B's sessions less of B times A's */
	uint64_t more_blocks, more_bytes, more_live;
	uint32_t same_as; /* place + 1 of the group that this one belongs to; 0 = none */
};

/* The function that allocates, as the keys number it. */
static uint32_t site_key(const struct joining *x, const struct joined *e)
{
	const struct side *s = x->j->sides[e->side];
	const struct side_stack *k = &s->stacks[e->stack];
	uint32_t place = s->nodes[k->site].place;
	const struct place_keys *p = &x->j->keys->places[e->side][place];

	if (!k->site)
		return 0;
	if (p->by_offset || p->count != s->places[place].count || k->site_frame >= p->count)
		return p->outline;
	return x->j->keys->numbers[p->first + p->count - 1 - k->site_frame];
}

static void find_places(struct joining *x, bool by_site)
{
	const struct join *j = x->j;

	for (size_t i = 0; i < j->list_count; i++) {
		const struct joined *e = &j->list[i];
		uint32_t at = x->at[e->side][j->sides[e->side]->stacks[e->stack].node];
		bool remains = e->by == JOIN_NOT;

		x->place[i] = by_site && remains ? step(&x->trie, at, site_key(x, e)) : at;
	}
}

static void add_to_group(const struct join *j, size_t joined, struct group *g)
{
	const struct tally *sums = join_sums(j, joined);

	for (size_t i = 0; i < j->count; i++) {
		bool b = i >= j->sides_a;
		uint64_t times = b ? -(uint64_t)j->sides_a : j->count - j->sides_a;
		g->more_blocks += sums[i].alloc_blocks * times;
		g->more_bytes += sums[i].alloc_bytes * times;
		g->more_live += live_bytes(&sums[i]) * times;
		if (sums[i].alloc_blocks || sums[i].alloc_bytes)
			g->in |= b ? IN_B : IN_A;
	}
}

static void find_groups(struct joining *x, struct group *by_place)
{
	for (size_t i = 0; i < x->j->list_count; i++) {
		const struct joined *e = &x->j->list[i];
		struct group *g = &by_place[x->place[i]];
		if (e->by != JOIN_NOT)
			continue;
		g->first = g->first ? g->first : (uint32_t)i + 1;
		add_to_group(x->j, i, g);
	}
}

static struct group *group_of(const struct joining *x, struct group *by_place, size_t joined)
{
	struct group *g = &by_place[x->place[joined]];

	return g->same_as ? &by_place[g->same_as - 1] : g;
}

static bool is_one(const struct group *g, enum join_by by)
{
	return g->in == (IN_A | IN_B) && (by != JOIN_COMMON || (!g->more_blocks && !g->more_bytes));
}

static void move_sums(struct join *j, size_t to, size_t from, bool add)
{
	for (size_t i = 0; i < j->count; i++) {
		if (add)
			tally_add(&join_sums(j, to)[i], &join_sums(j, from)[i]);
		else
			join_sums(j, to)[i] = join_sums(j, from)[i];
	}
}

static void renumber(struct join *j, const uint32_t *moved_to)
{
	for (size_t side = 0; side < j->count; side++)
		for (size_t i = 0; i < j->sides[side]->stack_count; i++)
			j->of_stack[side][i] = moved_to[j->of_stack[side][i]];
}

static uint64_t amounts_key(uint64_t blocks, uint64_t bytes)
{
	return hash_mix(hash_mix(blocks) + bytes);
}

/* Joins each group into its first stack, and closes the gaps. */
static void join_groups(struct joining *x, struct group *by_place, enum join_by by)
{
	struct join *j = x->j;
	uint32_t *moved_to = xcalloc(j->list_count + 1, sizeof *moved_to);
	size_t kept = 0;

	for (size_t i = 0; i < j->list_count; i++) {
		struct joined e = j->list[i];
		const struct group *g = group_of(x, by_place, i);
		bool joins = e.by == JOIN_NOT && is_one(g, by);
		if (joins && g->first != i + 1) {
			moved_to[i] = moved_to[g->first - 1];
			describe(x, &j->list[moved_to[g->first - 1]], &e);
			move_sums(j, moved_to[g->first - 1], i, true);
			continue;
		}
		if (joins)
			e.by = by;
		move_sums(j, kept, i, false);
		j->list[kept] = e;
		moved_to[i] = (uint32_t)kept++;
	}
	j->list_count = kept;
	renumber(j, moved_to);
	free(moved_to);
}

/* --- groups of A alone and of B alone, the frames of one among those of the other */

/* Is the path to `part` the path to `whole` with some frames less? */
static bool is_part(const struct trie *t, uint32_t whole, uint32_t part)
{
	for (; part && whole; whole = t->before[whole])
		if (t->last[whole] == t->last[part])
			part = t->before[part];
	return !part;
}

static const char *owner_of(const struct joining *x, const struct group *g)
{
	const struct joined *e = &x->j->list[g->first - 1];

	return x->j->sides[e->side]->stacks[e->stack].owner_key;
}

/* As many blocks and bytes in A's group as in B's? */
static bool are_one(const struct joining *x, const struct group *by_place, uint32_t a, uint32_t b)
{
	const struct group *of_a = &by_place[a], *of_b = &by_place[b];

	return of_a->in == IN_A && of_a->more_blocks + of_b->more_blocks == 0 &&
	       of_a->more_bytes + of_b->more_bytes == 0 && owner_of(x, of_a) == owner_of(x, of_b) &&
	       (is_part(&x->trie, a, b) || is_part(&x->trie, b, a));
}

static void become_one(struct group *by_place, uint32_t a, uint32_t b)
{
	struct group *to = &by_place[a], *from = &by_place[b];

	to->in |= from->in;
	to->first = from->first < to->first ? from->first : to->first;
	to->more_blocks = to->more_bytes = 0;
	from->same_as = a + 1;
}

static void find_parts(const struct joining *x, struct group *by_place)
{
	struct map with_amounts = { 0 }; /* -> place of A + 1 */
	uint32_t *next = xcalloc(x->trie.count, sizeof *next);

	for (uint32_t i = 0; i < x->trie.count; i++) {
		uint64_t key = amounts_key(by_place[i].more_blocks, by_place[i].more_bytes);
		if (by_place[i].in != IN_A)
			continue;
		next[i] = map_get(&with_amounts, key, 0);
		map_set(&with_amounts, key, i + 1);
	}
	for (uint32_t i = 0; i < x->trie.count; i++) {
		uint64_t key = amounts_key(-by_place[i].more_blocks, -by_place[i].more_bytes);
		uint32_t a = by_place[i].in == IN_B ? map_get(&with_amounts, key, 0) : 0;

		while (a && !are_one(x, by_place, a - 1, i))
			a = next[a - 1];
		if (a)
			become_one(by_place, a - 1, i);
	}
	map_release(&with_amounts);
	free(next);
}

static bool some_remain(const struct join *j)
{
	bool a = false, b = false;

	for (size_t i = 0; i < j->list_count && !(a && b); i++) {
		a |= j->list[i].by == JOIN_NOT && on_side(j, i, false);
		b |= j->list[i].by == JOIN_NOT && on_side(j, i, true);
	}
	return a && b;
}

static void join_by_place(struct joining *x, enum join_by by, bool by_site)
{
	x->place = xcalloc(x->j->list_count + 1, sizeof *x->place);
	find_places(x, by_site);
	struct group *by_place = xcalloc(x->trie.count, sizeof *by_place);
	find_groups(x, by_place);
	if (by == JOIN_COMMON)
		find_parts(x, by_place);
	join_groups(x, by_place, by);
	free(by_place);
	free(x->place);
}

static void join_rest(struct joining *x, step_fn next, enum join_by by)
{
	if (x->j->keys->one_run || !some_remain(x->j))
		return;
	map_clear(&x->trie.child);
	x->trie.count = 0;
	add_place(&x->trie, 0, 0);
	for (size_t i = 0; i < x->j->count; i++)
		walk_side(x, i, next);
	if (by == JOIN_OUTLINE)
		join_by_place(x, by, true);
	join_by_place(x, by, false);
}

/* --- which member of a joined stack changed? */

static uint64_t member_key(uint32_t joined, const struct tally *t)
{
	return hash_mix(amounts_key(t->alloc_blocks, t->alloc_bytes) + joined);
}

/* With as many blocks and bytes on the other side, a member is the same there. */
static void find_equal(const struct join *j, struct map *sides)
{
	for (size_t side = 0; side < j->count; side++)
		for (size_t i = 0; i < j->sides[side]->stack_count; i++) {
			uint64_t key =
				member_key(j->of_stack[side][i], &j->sides[side]->stacks[i].sum);
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
		uint32_t module = s->places[s->nodes[s->stacks[stacks[i]].site].place].module;
		lines[i] = module != NO_ID && s->modules[module].lines;
	}
	return !lines[0] && lines[1];
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
		struct group all = { 0 };

		add_to_group(j, joined, &all);
		if (members[joined] < 2 || e->by == JOIN_COMMON || !all.more_live ||
		    ((int64_t)all.more_live < 0) != b ||
		    live_bytes(&s->stacks[i].sum) <= shown[joined])
			continue;
		uint64_t in = map_get(equal, member_key(joined, &s->stacks[i].sum), 0);
		if (in == (IN_A | IN_B) || knows_less(j, e, (uint32_t)side, i))
			continue;
		shown[joined] = live_bytes(&s->stacks[i].sum);
		e->side = (uint32_t)side;
		e->stack = i;
		e->among = e->by == JOIN_OUTLINE ? members[joined] : 0;
	}
}

static void describe_by_change(struct join *j)
{
	uint64_t *shown = xcalloc(j->list_count + 1, sizeof *shown);
	uint32_t *members = xcalloc(j->list_count + 1, sizeof *members);
	struct map equal = { 0 };

	find_equal(j, &equal);
	for (size_t side = 0; side < j->count && !j->keys->one_run; side++)
		describe_changed(j, side, &equal, shown, members);
	map_release(&equal);
	free(members);
	free(shown);
}

/* --- the whole */

static void begin(struct joining *x)
{
	size_t n = x->j->count;

	x->at = xcalloc(n, sizeof *x->at);
	x->named = xcalloc(n, sizeof *x->named);
	x->with_names = xcalloc(n, sizeof *x->with_names);
	for (size_t i = 0; i < n; i++) {
		size_t nodes = x->j->sides[i]->node_count + 1;
		x->at[i] = xcalloc(nodes, sizeof **x->at);
		x->named[i] = xcalloc(nodes, sizeof **x->named);
		x->with_names[i] = xcalloc(nodes, sizeof **x->with_names);
		count_names(x, i);
	}
	find_met(x);
	add_place(&x->trie, 0, 0);
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
	free(x->trie.last);
	free(x->trie.before);
	map_release(&x->trie.child);
	map_release(&x->of_place);
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
	j->keys = keys_new(sides, count);
	begin(&x);
	for (uint32_t i = 0; i < count; i++) {
		walk_side(&x, i, step_place);
		for (uint32_t s = 0; s < sides[i]->stack_count; s++)
			add_stack(&x, i, s);
	}
	say_how(&x);
	join_rest(&x, step_outline, JOIN_OUTLINE);
	join_rest(&x, step_common, JOIN_COMMON);
	describe_by_change(j);
	end(&x);
	return j;
}

void join_free(struct join *j)
{
	if (!j)
		return;
	keys_free(j->keys);
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

size_t join_frames(const struct join *j, size_t joined, struct join_frame *out, size_t max)
{
	const struct joined *e = &j->list[joined];
	const struct side *s = j->sides[e->side];
	const struct side_stack *k = &s->stacks[e->stack];
	size_t count = 0;

	for (uint32_t node = k->node; node; node = s->nodes[node].parent) {
		const struct side_place *own = &s->places[s->nodes[node].place];
		uint32_t side;
		const struct side_place *p =
			keys_best(j->keys, e->side, s->nodes[node].place, &side);
		const struct side_module *in =
			own->module == NO_ID ? NULL : &s->modules[own->module];
		for (uint32_t i = 0; i < p->count && count < max; i++) {
			bool site = node == k->site && i == k->site_frame;
			out[count++] = (struct join_frame){
				.f = &j->sides[side]->frames[p->first + i],
				.in = in,
				.module = in ? in->name : NULL,
				.offset = own->offset,
				.kind = own->kind,
				.site = site,
			};
		}
	}
	return count;
}
