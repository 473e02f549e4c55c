/* SPDX-License-Identifier: MIT
 *
 * test_stacks.c - the trie and the code locations: one number per key, from any number of threads.
 */
#include "check.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/types.h"
#include "modules/maps.h"
#include "paths.h"
#include "unwind/stacks.h"
#include "unwind/stacks_fast.h"

#include <memtop/wire.h>
#include <pthread.h>

#define THREADS 4
#define NODES 60000

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

TEST(truncations_are_there_from_the_start)
{
	mt_stacks_init();
	for (unsigned reason = 1; reason < MTW_TRUNC_COUNT; reason++) {
		node_id id = mt_stacks_truncated(reason);
		const struct node *n = mt_stacks_node(id);
		const struct code *c = mt_stacks_code_at(node_code(n));
		CHECK(id != 0);
		CHECK_EQ(node_parent(n), 0);
		CHECK_EQ(c->kind, MTW_NODE_TRUNCATED);
		CHECK_EQ(c->offset, reason);
	}
	CHECK(mt_stacks_truncated(MTW_TRUNC_COUNT) != 0);
	CHECK(mt_stacks_check());
}

TEST(truncations_keep_their_children)
{
	mt_stacks_init();
	node_id top = mt_stacks_truncated(MTW_TRUNC_NODES);
	node_id child = mt_stacks_child(top, 11, NEED_WHOLE);
	mt_stacks_init(); /* an agent that is attached again */
	CHECK_EQ(mt_stacks_child(top, 11, NEED_WHOLE), child);
	CHECK_EQ(node_parent(mt_stacks_node(child)), top);
}

TEST(same_key_same_node)
{
	mt_stacks_init();
	uint32_t before = mt_stacks_count();
	node_id a = mt_stacks_child(0, 11, NEED_WHOLE), b = mt_stacks_child(0, 12, NEED_WHOLE),
		c = mt_stacks_child(a, 12, NEED_WHOLE);
	CHECK(a && b && c && a != b && b != c && a != c);
	CHECK_EQ(mt_stacks_child(0, 11, NEED_WHOLE), a);
	CHECK_EQ(mt_stacks_child(a, 12, NEED_WHOLE), c);
	CHECK_EQ(mt_stacks_count(), before + 3);
	CHECK_EQ(node_parent(mt_stacks_node(c)), a);
	CHECK_EQ(node_code(mt_stacks_node(c)), 12);
	CHECK_EQ(mt_stacks_child(a, 0, NEED_WHOLE), 0);
}

TEST(locations_know_their_module)
{
	mt_maps_init();
	mt_stacks_init();
	uintptr_t pc = (uintptr_t)&mt_stacks_init + 1;
	code_id call = mt_stacks_code(pc, MTW_NODE_CODE),
		exact = mt_stacks_code(pc, MTW_NODE_SIGNAL);
	const struct code *c = mt_stacks_code_at(call);
	CHECK(call != exact);
	CHECK_EQ(mt_stacks_code(pc, MTW_NODE_CODE), call);
	CHECK_EQ(c->pc, pc);
	CHECK_EQ(c->kind, MTW_NODE_CODE);
	CHECK_EQ(c->offset, pc - mt_maps_module(c->module)->bias);
	CHECK(mt_maps_module(c->module)->xflags & MTW_MODULE_MAIN);
	c = mt_stacks_code_at(mt_stacks_code(4711, MTW_NODE_CODE));
	CHECK_EQ(c->kind, MTW_NODE_NOWHERE);
	CHECK_EQ(c->offset, 4711);
}

/* Every thread builds the same random tree; all must get the same numbers for it. */
static node_id tree[THREADS][NODES];
static code_id codes[5000];
static pthread_barrier_t start;

static void make_codes(void)
{
	mt_stacks_init();
	for (uintptr_t i = 0; i < 5000; i++)
		codes[i] = mt_stacks_code(i + 1, MTW_NODE_CODE);
}

static void race(void *(*work)(void *))
{
	pthread_t thread[THREADS];

	make_codes();
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, tree[i]));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK(!memcmp(tree[i], tree[0], sizeof(*tree)));
	CHECK(mt_stacks_check());
}

static void *build(void *arg)
{
	node_id *mine = arg;
	uint32_t seed = 42;

	pthread_barrier_wait(&start);
	for (int i = 0; i < NODES; i++) {
		bool inner = i && random_below(&seed, 8);
		node_id parent = inner ? mine[random_below(&seed, (uint32_t)i)] : 0;
		mine[i] = mt_stacks_child(parent, codes[random_below(&seed, 5000)], NEED_WHOLE);
	}
	return NULL;
}

TEST(threads_number_stacks_alike)
{
	race(build);
	for (int i = 0; i < NODES; i++) {
		const struct node *n = mt_stacks_node(tree[0][i]);
		CHECK(node_parent(n) < tree[0][i]);
		CHECK_EQ(mt_stacks_child(node_parent(n), node_code(n), NEED_WHOLE), tree[0][i]);
	}
}

#define DEEP 12

/* Paths of 1 to DEEP steps, of which the outer ones are few and the inner ones many. */
static void *build_paths(void *arg)
{
	node_id *mine = arg;
	uint32_t seed = 7;

	pthread_barrier_wait(&start);
	for (int i = 0; i < NODES; i++) {
		code_id path_codes[DEEP];
		uint32_t depth = 1 + random_below(&seed, DEEP);
		for (uint32_t at = 0; at < depth; at++)
			path_codes[at] = codes[random_below(&seed, 2 + at * at)];
		mine[i] = path(path_codes, depth);
	}
	return NULL;
}

TEST(threads_agree_on_paths)
{
	race(build_paths);
}

/* A list's last place, the first child beyond, and lookups of both and of none. */
TEST(more_children_than_a_list_holds)
{
	make_codes();
	node_id parent = mt_stacks_child(0, 21, NEED_WHOLE), child[100];
	for (code_id code = 1; code <= 100; code++) {
		struct node *none;
		uint32_t listed;
		CHECK_EQ(
			stacks_listed(stacks_node(parent), node_step(parent, code), &none, &listed),
			0);
		CHECK_EQ(listed, code <= LISTED ? code - 1 : LISTED);
		child[code - 1] = mt_stacks_child(parent, code, NEED_WHOLE);
		CHECK(child[code - 1] > parent);
		CHECK_EQ(mt_stacks_hashed(parent, code), code <= LISTED ? 0 : child[code - 1]);
	}
	for (code_id code = 1; code <= 100; code++)
		CHECK_EQ(mt_stacks_child(parent, code, NEED_WHOLE), child[code - 1]);
	CHECK_EQ(mt_stacks_hashed(parent, 101), 0);
	CHECK(mt_stacks_check());
}

TEST(a_path_in_one_piece)
{
	static const code_id here[] = { 31, 32, 33, 34 }, there[] = { 31, 35 };
	make_codes();
	node_id top = mt_stacks_child(0, 22, NEED_WHOLE), first = branch(top, here, 4);
	CHECK_EQ(mt_stacks_child(top, 31, NEED_WHOLE), first);
	CHECK_EQ(mt_stacks_child(first, 32, NEED_WHOLE), first + 1);
	CHECK_EQ(mt_stacks_child(first + 2, 34, NEED_WHOLE), first + 3);
	CHECK_EQ(node_parent(mt_stacks_node(first + 3)), first + 2);
	CHECK_EQ(branch(top, there, 2), first); /* the other was there first */
	node_id side = mt_stacks_child(first, 35, NEED_WHOLE);
	CHECK(side > first + 3);
	CHECK_EQ(mt_stacks_child(first, 32, NEED_WHOLE), first + 1);
	CHECK(mt_stacks_check());
}

/* So many numbers are never in a row, and the last ones of a chunk go on in the next. */
TEST(numbers_in_a_row)
{
	mt_stacks_init();
	CHECK_EQ(mt_stacks_reserve(NODES_END, NEED_WHOLE), 0);
	uint32_t before = mt_stacks_count();
	node_id first = mt_stacks_reserve(3000, NEED_WHOLE);
	CHECK_EQ(first, before);
	CHECK_EQ(mt_stacks_count(), before + 3000);
	stacks_fill(first + 2999, first, 1, 0);
	CHECK_EQ(node_parent(mt_stacks_node(first + 2999)), first);
}

TEST(the_cap_is_met_and_said)
{
	mt_stacks_init();
	mt_conf.max_memory = mt_arena_bytes() + (200u << 10);
	code_id code = mt_stacks_code(99, MTW_NODE_CODE);
	node_id first = mt_stacks_child(0, code, NEED_WHOLE), last = first;
	uint32_t made = 0;
	for (node_id next = first; next && made < 1000000; made++) {
		last = next;
		next = mt_stacks_child(next, code, NEED_WHOLE);
	}
	CHECK(made > 1000 && made < 100000);
	CHECK_EQ(mt_stacks_child(last, code, NEED_WHOLE), 0);
	CHECK_EQ(mt_stacks_child(0, code, NEED_WHOLE), first);
	CHECK(mt_arena_bytes() <= mt_conf.max_memory);
	CHECK(mt_stacks_check());
}
