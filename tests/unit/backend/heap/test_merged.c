/* SPDX-License-Identifier: MIT
 *
 * test_merged.c - call trees by names, of trees that grow at random, against the names on each
 * node's path, read upwards.
 */
#include "check.h"
#include "random.h"

#include "heap/merged.h"

#include <stdlib.h>
#include <string.h>

#define NODES 500u
#define LOCATIONS 40u
#define FRAMES_MAX 3u /* of a location */
#define NAMES 9u
#define PATH (NODES * FRAMES_MAX)

struct tree {
	struct skeleton *s;
	struct heap_names n;
	uint32_t first[LOCATIONS + 1];
	struct heap_frame frames[LOCATIONS * FRAMES_MAX];
	uint32_t name[LOCATIONS * FRAMES_MAX];
};

static void make(struct tree *t, uint32_t nodes)
{
	static const uint64_t no_stacks[NODES / 64 + 1];
	struct arrival list[NODES];
	uint32_t frames = 0;

	for (uint32_t l = 0; l < LOCATIONS; l++) {
		t->first[l] = frames;
		for (uint32_t i = below(FRAMES_MAX) + 1; i--; frames++) {
			t->frames[frames] = (struct heap_frame){ .line = below(3) };
			t->name[frames] = below(NAMES);
		}
	}
	t->first[LOCATIONS] = frames;
	t->n = (struct heap_names){ .locations = LOCATIONS,
				    .first = t->first,
				    .frames = t->frames };
	for (uint32_t i = 0; i < nodes; i++)
		list[i] = (struct arrival){ .parent = i - below(below(2) ? 1 + i % 5 : i + 1),
					    .location = below(LOCATIONS) };
	t->s = skeleton_new(NULL, list, nodes, no_stacks, NULL);
}

/* The names from a node's innermost frame outwards; returns their count. */
static uint32_t names_above(const struct tree *t, uint32_t node, uint32_t *path)
{
	uint32_t count = 0;

	for (; node; node = t->s->parent[node])
		for (uint32_t l = t->s->location[node], i = t->first[l]; i < t->first[l + 1]; i++)
			path[count++] = t->name[i];
	return count;
}

static uint32_t merged_names_above(const struct tree *t, const struct merged *m, uint32_t at,
				   uint32_t *path)
{
	uint32_t count = 0;

	for (; at; at = m->parent[at])
		path[count++] = t->name[m->frame[at]];
	return count;
}

static void check_paths(const struct tree *t, const struct merged *m)
{
	static uint32_t a[PATH], b[PATH];

	CHECK_EQ(m->of_node[0], 0);
	for (uint32_t n = 0; n < t->s->nodes; n++) {
		uint32_t count = names_above(t, n, a);

		CHECK_EQ(merged_names_above(t, m, m->of_node[n], b), count);
		CHECK(!memcmp(a, b, count * sizeof *a));
	}
}

/* Depth-first: a node's parent is the one before it, or above that; no two siblings are one. */
static void check_order(const struct tree *t, const struct merged *m)
{
	CHECK_EQ(m->parent[0], NO_ID);
	for (uint32_t i = 1; i < m->count; i++) {
		uint32_t above = i - 1;

		while (above != NO_ID && above != m->parent[i])
			above = m->parent[above];
		CHECK(above == m->parent[i]);
		for (uint32_t k = 1; k < i; k++)
			CHECK(m->parent[k] != m->parent[i] ||
			      t->name[m->frame[k]] != t->name[m->frame[i]]);
	}
}

/* Every merged node is some frame of some node; its line is theirs if they agree. */
static void check_lines(const struct tree *t, const struct merged *m)
{
	uint32_t *lines = calloc(m->count, sizeof *lines);
	bool *met = calloc(m->count, sizeof *met);

	for (uint32_t n = 1; n < t->s->nodes; n++) {
		uint32_t l = t->s->location[n], at = m->of_node[n];

		for (uint32_t i = t->first[l]; i < t->first[l + 1]; i++, at = m->parent[at]) {
			uint32_t line = t->frames[i].line;

			lines[at] = met[at] && lines[at] != line ? MERGED_LINES : line;
			met[at] = true;
		}
	}
	for (uint32_t i = 1; i < m->count; i++) {
		CHECK(met[i]);
		CHECK_EQ(m->line[i], lines[i]);
	}
	free(lines);
	free(met);
}

TEST(random_trees)
{
	for (uint64_t round = 1; round <= 60; round++) {
		static struct tree t;

		seed = round;
		make(&t, below(NODES - 1));
		struct merged *m = merged_new(t.s, &t.n, t.name, NAMES);
		check_paths(&t, m);
		check_order(&t, m);
		check_lines(&t, m);
		merged_free(m);
		skeleton_drop(t.s);
	}
}

/* A chain as deep as they come: nothing recurses. */
TEST(a_deep_chain)
{
	enum { DEEP = 1000000 };
	struct arrival *list = calloc(DEEP, sizeof *list);
	uint64_t *no_stacks = calloc(DEEP / 64 + 1, sizeof *no_stacks);
	uint32_t first[] = { 0, 1 }, name[] = { 0 };
	struct heap_frame frame = { .line = 7 };
	struct heap_names n = { .locations = 1, .first = first, .frames = &frame };

	for (uint32_t i = 0; i < DEEP; i++)
		list[i].parent = i;
	struct skeleton *s = skeleton_new(NULL, list, DEEP, no_stacks, NULL);
	struct merged *m = merged_new(s, &n, name, 1);
	CHECK_EQ(m->count, DEEP + 1);
	CHECK_EQ(m->parent[DEEP], DEEP - 1);
	CHECK_EQ(m->of_node[DEEP], DEEP);
	merged_free(m);
	skeleton_drop(s);
	free(list);
	free(no_stacks);
}
