/* SPDX-License-Identifier: MIT
 *
 * test_union.c - the call trees of several heaps as one: what each path holds, by text.
 */
#include "check.h"
#include "random.h"

#include "heap/union.h"

/* A heap by hand: a path is a word, each of its letters a location ("abc": a calls b calls c). */
struct member {
	struct columns columns;
	struct heap *heap;
	uint32_t *at, *to;    /* by node, by stack: the union's */
	uint32_t nodes;       /* entered */
	uint32_t of_old[256]; /* by their order of arrival: the union's */
};

static uint32_t child_of(struct member *m, uint32_t parent, uint32_t location)
{
	struct columns *c = &m->columns;

	for (size_t i = 0; i < c->node_count; i++)
		if (c->nodes_came[i].parent == parent && c->nodes_came[i].location == location)
			return c->skeleton->nodes + (uint32_t)i;
	const struct skeleton *s = c->skeleton;
	for (uint32_t a = 1; a < s->nodes; a++)
		if (s->location[s->node_of[a]] == location && parent < s->nodes &&
		    s->parent[s->node_of[a]] == s->node_of[parent])
			return a;
	return columns_add_node(c, parent, location, location, false);
}

static uint32_t add_path(struct member *m, const char *path)
{
	uint32_t node = 0;

	for (; *path; path++)
		node = child_of(m, node, (uint32_t)(*path - 'a'));
	return node;
}

/* "ab 10, abc 5": paths, and the bytes allocated there. */
static void add_heap(struct member *m, const char *text)
{
	char *copy = xstrdup(text), path[32];
	unsigned bytes;

	for (char *save = NULL, *w = strtok_r(copy, ",", &save); w;
	     w = strtok_r(NULL, ",", &save)) {
		path[0] = '\0';
		CHECK(sscanf(w, " %u", &bytes) == 1 || sscanf(w, " %31s %u", path, &bytes) == 2);
		uint32_t slot = columns_add_slot(&m->columns, add_path(m, path), 1, 1);
		columns_settle(&m->columns);
		columns_put(&m->columns, slot, &(struct tally){ 1, bytes, 0, 0 });
		if (bytes == 77)
			columns_weigh(&m->columns, slot);
	}
	free(copy);
	heap_drop(m->heap);
	m->heap = heap_new(&m->columns, NULL);
}

enum keys { ONE, FOLDED, INLINED };

static const struct union_keys *keys_of(enum keys k)
{
	static const uint32_t letters[26] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
					      13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25 };
	/* a: none; b: itself; c: x and b, which is inlined into it; all others: themselves */
	static const uint32_t first[27] = { 0,  0,  1,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
					    14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26 };
	static const uint32_t inlined[26] = { 1,  23, 1,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
					      13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25 };
	static const struct union_keys all[] = {
		[ONE] = { letters, NULL, false },
		[FOLDED] = { letters, NULL, true },
		[INLINED] = { inlined, first, false },
	};

	return &all[k];
}

/* What is new of a member since it was entered last: nodes move, their order of arrival stays. */
static void enter(struct heap_union *u, struct member *m, enum keys keys)
{
	const struct skeleton *s = m->heap->skeleton;
	uint64_t *wanted = xcalloc(s->nodes / 64 + 1ul, sizeof *wanted);

	free(m->at);
	m->at = xcalloc(s->nodes, sizeof *m->at);
	for (uint32_t a = 0; a < s->nodes; a++) {
		uint32_t n = s->node_of[a];

		if (a < m->nodes)
			m->at[n] = m->of_old[a];
		else
			wanted[n / 64] |= 1ull << n % 64;
	}
	union_enter(u, s, keys_of(keys), wanted, m->at);
	for (m->nodes = 0; m->nodes < s->nodes; m->nodes++)
		m->of_old[m->nodes] = m->at[s->node_of[m->nodes]];
	for (uint32_t k = 0; k < s->stacks; k++)
		union_end(u, m->at[s->node_of_stack[k]]);
	free(wanted);
}

static void place(const struct heap_union *u, struct member *m)
{
	const struct skeleton *s = m->heap->skeleton;

	free(m->to);
	m->to = xcalloc(s->stacks + 1ul, sizeof *m->to);
	for (uint32_t k = 0; k < s->stacks; k++)
		m->to[k] = union_stack(u, m->at[s->node_of_stack[k]]);
}

/* The node of these keys; NO_ID = none. */
static uint32_t node_of(const struct skeleton *s, const char *path)
{
	uint32_t n = 0;

	for (; *path; path++) {
		uint32_t child = n + 1;

		while (child < s->end[n] && s->location[child] != (uint32_t)(*path - 'a'))
			child = s->end[child];
		if (child >= s->end[n])
			return NO_ID;
		n = child;
	}
	return n;
}

static uint64_t bytes_at(const struct heap *h, const char *path, bool inclusive)
{
	uint32_t n = node_of(h->skeleton, path);

	CHECK(n != NO_ID);
	return inclusive ? heap_incl(h, n).alloc_bytes : heap_self(h, n).alloc_bytes;
}

static struct heap *sum_of(const struct heap_union *u, struct member *m, size_t count)
{
	struct union_part parts[8];

	for (size_t i = 0; i < count; i++) {
		place(u, &m[i]);
		parts[i] = (struct union_part){ m[i].heap, m[i].to };
	}
	return union_heap(u, parts, count);
}

TEST(paths_of_equal_keys_are_one)
{
	static const struct {
		const char *heaps[3];
		enum keys keys;
		const char *path;       /* of keys */
		uint64_t self, incl[3]; /* of all; of each */
		uint32_t nodes;
	} cases[] = {
		{ { "abc 10", "abc 5", "" }, ONE, "abc", 15, { 10, 5, 0 }, 4 },
		{ { "abc 10", "abd 5", "ab 1" }, ONE, "ab", 1, { 10, 5, 1 }, 5 },
		{ { "abc 10", "bac 5", "" }, ONE, "b", 0, { 0, 5, 0 }, 7 },
		{ { "ab 10, ac 20", "ac 1, ab 2", "" }, ONE, "ac", 21, { 20, 1, 0 }, 4 },
		{ { "3, a 1", "4", "" }, ONE, "", 7, { 4, 4, 0 }, 2 },
		{ { "aaab 1", "ab 2", "aab 4" }, FOLDED, "ab", 7, { 1, 2, 4 }, 3 },
		{ { "aba 1", "ab 2", "" }, FOLDED, "aba", 1, { 1, 0, 0 }, 4 },
		{ { "ca 1", "xb 2", "" }, INLINED, "xb", 3, { 1, 2, 0 }, 3 },
		{ { "aaac 1", "c 2", "ax 4" }, INLINED, "x", 4, { 1, 2, 4 }, 3 },
		{ { "a 1, aa 2", "", "" }, INLINED, "", 3, { 3, 0, 0 }, 1 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct member m[3] = { 0 };
		struct heap_union u;

		printf("  case %zu\n", i);
		union_init(&u);
		for (int k = 0; k < 3; k++) {
			columns_init(&m[k].columns);
			add_heap(&m[k], cases[i].heaps[k]);
			enter(&u, &m[k], cases[i].keys);
		}
		union_settle(&u);
		CHECK_EQ(u.nodes, cases[i].nodes);
		struct heap *all = sum_of(&u, m, 3);
		CHECK_EQ(bytes_at(all, cases[i].path, false), cases[i].self);
		CHECK_EQ(bytes_at(all, cases[i].path, true),
			 cases[i].incl[0] + cases[i].incl[1] + cases[i].incl[2]);
		for (int k = 0; k < 3; k++)
			CHECK_EQ(bytes_at(sum_of(&u, &m[k], 1), cases[i].path, true),
				 cases[i].incl[k]);
	}
}

/* Members come, grow and go; numbers of nodes stay. */
TEST(a_union_is_kept)
{
	struct member m[2] = { 0 };
	struct heap_union u;

	union_init(&u);
	columns_init(&m[0].columns);
	columns_init(&m[1].columns);
	add_heap(&m[0], "ab 1, ac 2");
	enter(&u, &m[0], ONE);
	union_settle(&u);
	struct skeleton *first = skeleton_hold(u.skeleton);
	uint32_t ac = u.skeleton->id[node_of(u.skeleton, "ac")];

	add_heap(&m[1], "ab 10, b 20");
	enter(&u, &m[1], ONE);
	add_heap(&m[0], "abd 4, a 77");
	enter(&u, &m[0], ONE);
	union_settle(&u);
	CHECK(u.skeleton != first);
	CHECK_EQ(first->nodes, 4);
	CHECK_EQ(u.skeleton->id[node_of(u.skeleton, "ac")], ac);
	struct heap *all = sum_of(&u, m, 2), *one = sum_of(&u, m, 1);
	CHECK_EQ(bytes_at(all, "ab", true), 15);
	CHECK_EQ(bytes_at(all, "", true), 114);
	CHECK_EQ(bytes_at(one, "", true), 84);
	CHECK_EQ(bytes_at(one, "b", true), 0);
	CHECK_EQ(heap_amounts(all, 0).sampled, 1);
	CHECK_EQ(heap_amounts(all, node_of(all->skeleton, "ab")).sampled, 0);
	union_settle(&u);
	CHECK(u.skeleton == all->skeleton); /* nothing came */
	add_heap(&m[1], "ac 1");            /* a stack where one is already */
	enter(&u, &m[1], ONE);
	union_settle(&u);
	CHECK(u.skeleton == all->skeleton);
	add_heap(&m[1], "abd 1, bd 1");
	enter(&u, &m[1], ONE);
	union_settle(&u);
	CHECK(u.skeleton != all->skeleton);
	CHECK_EQ(bytes_at(sum_of(&u, m, 2), "", true), 117);
	CHECK_EQ(bytes_at(all, "", true), 114);
	heap_drop(all);
	heap_drop(one);
	union_release(&u);
}

/* The paths that are not wanted stay out. */
TEST(some_stacks_only)
{
	struct member m = { 0 };
	struct heap_union u;
	uint64_t wanted = 0;
	uint32_t at[16];

	columns_init(&m.columns);
	add_heap(&m, "abc 1, ad 2, be 4");
	const struct skeleton *s = m.heap->skeleton;
	for (uint32_t n = node_of(s, "ad"); n; n = s->parent[n])
		wanted |= 1ull << n;
	union_init(&u);
	union_enter(&u, s, keys_of(ONE), &wanted, at);
	CHECK_EQ(u.nodes, 3);
	CHECK_EQ(at[node_of(s, "ad")], 2);
	union_release(&u);
}

/* Trees at random, in any order of arrival: each path's sum is the sum of its members'. */
TEST(sums_hold_for_any_trees)
{
	seed = 5;
	for (int round = 0; round < 100; round++) {
		uint64_t of_first[26] = { 0 }, all = 0;
		struct member m[4] = { 0 };
		struct heap_union u;
		size_t count = 1 + below(4);

		union_init(&u);
		for (size_t i = 0; i < count; i++) {
			columns_init(&m[i].columns);
			for (uint32_t k = below(30); k-- > 0;) {
				char path[16] = "";
				uint32_t depth = 1 + below(8), bytes = below(1000);

				for (uint32_t d = 0; d < depth; d++)
					path[d] = (char)('a' + below(3));
				char text[32];
				snprintf(text, sizeof text, "%s %u", path, bytes);
				add_heap(&m[i], text);
				of_first[path[0] - 'a'] += bytes;
				all += bytes;
			}
			if (!m[i].heap)
				add_heap(&m[i], "");
			enter(&u, &m[i], ONE);
		}
		union_settle(&u);
		struct heap *h = sum_of(&u, m, count);
		CHECK_EQ(heap_incl(h, 0).alloc_bytes, all);
		for (char c = 'a'; c < 'd'; c++)
			if (node_of(h->skeleton, (char[]){ c, '\0' }) != NO_ID)
				CHECK_EQ(bytes_at(h, (char[]){ c, '\0' }, true), of_first[c - 'a']);
		for (uint32_t n = 1; n < u.skeleton->nodes; n++) /* no two siblings have one key */
			for (uint32_t o = u.skeleton->end[n];
			     o < u.skeleton->end[u.skeleton->parent[n]]; o = u.skeleton->end[o])
				CHECK(u.skeleton->location[o] != u.skeleton->location[n]);
		heap_drop(h);
		union_release(&u);
	}
}
