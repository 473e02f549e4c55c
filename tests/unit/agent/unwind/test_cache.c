/* SPDX-License-Identifier: MIT
 *
 * test_cache.c - a thread's table of pcs: what it holds of their rules, and that it grows; and its
 * table of edges: where they lead.
 */
#include "check.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/cache.h"
#include "unwind/incremental.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"

#define PCS 20000u
#define FIRST_PC ((uintptr_t)0x10000)
#define WORD ((intptr_t)sizeof(uintptr_t))

static uint64_t wanted; /* the rule of the next pc that nobody knows yet; 0 = of each its own */
static uint32_t asked;
static struct thread thread;

static intptr_t cfa_of(uintptr_t pc)
{
	return WORD * (intptr_t)(3 + (pc - FIRST_PC) % 1000);
}

static uint64_t rule_of(const struct module *m, uintptr_t pc)
{
	(void)m;
	asked++;
	return wanted ? wanted : rule_pack(RULE_FAST | RULE_SP | RULE_SAVED, cfa_of(pc), -2 * WORD);
}

static struct unwind_cache *begin(void)
{
	mt_stacks_init();
	mt_unwind_rule = rule_of;
	return mt_unwind_cache(&thread, 64);
}

static bool is_its_own(const struct call *call, uintptr_t pc)
{
	return call->shape == FRAME_SAVED && call->cfa * WORD == cfa_of(pc) && call->bp == 2 &&
	       mt_stacks_code_at(call->code)->pc == pc;
}

/* Looks up all pcs; returns how many the table did not have. */
static uint64_t look_up(struct unwind_cache *u, uint32_t pcs)
{
	uint64_t before = u->effort.pc_misses;

	for (uintptr_t pc = FIRST_PC; pc < FIRST_PC + pcs; pc++)
		if (!is_its_own(unwind_pc(u, pc), pc))
			return UINT64_MAX;
	return u->effort.pc_misses - before;
}

TEST(a_table_that_grows_keeps_its_entries)
{
	struct unwind_cache *u = begin();
	uint32_t sets = u->pc_mask + 1;

	wanted = 0;
	CHECK_EQ(look_up(u, PCS / 10), PCS / 10);
	CHECK(u->pc_mask + 1 >= 4 * sets);
	CHECK(look_up(u, PCS / 10) < PCS / 20);
	CHECK(look_up(u, PCS) <= PCS);
	look_up(u, PCS);
	CHECK(look_up(u, PCS) < PCS / 20);
}

static const struct call *call_of(struct unwind_cache *u, uint64_t rule)
{
	static uintptr_t pc = FIRST_PC + PCS;

	wanted = rule;
	return unwind_pc(u, ++pc);
}

static bool is_plain(struct unwind_cache *u, uint32_t flags, intptr_t cfa, intptr_t bp)
{
	return !(call_of(u, rule_pack(RULE_FAST | flags, cfa, bp))->shape & FRAME_BY_RULE);
}

TEST(plain_is_what_stays_within_the_frame)
{
	struct unwind_cache *u = begin();
	const uint32_t saved = RULE_SP | RULE_SAVED;
	const intptr_t most = UINT16_MAX * WORD;

	CHECK(is_plain(u, saved, 4 * WORD, -2 * WORD));
	CHECK(is_plain(u, saved, 4 * WORD, -4 * WORD));
	CHECK(is_plain(u, RULE_BP | RULE_SAVED, 2 * WORD, -2 * WORD));
	CHECK(is_plain(u, saved, most, -2 * WORD));
	CHECK(!is_plain(u, saved, most + WORD, -2 * WORD));
	CHECK(!is_plain(u, saved, 4 * WORD, -5 * WORD));
	CHECK(!is_plain(u, saved, 4 * WORD, 0));
	CHECK(!is_plain(u, saved, 4 * WORD, WORD));
	CHECK(!is_plain(u, saved, 4 * WORD + 4, -2 * WORD));
	CHECK(!is_plain(u, saved, 4 * WORD, -2 * WORD + 1));
	CHECK(!is_plain(u, saved, 0, -2 * WORD));
	CHECK(!is_plain(u, saved, -4 * WORD, -2 * WORD));
	CHECK(!is_plain(u, RULE_WORD | RULE_SAVED, 4 * WORD, -2 * WORD));
	CHECK(is_plain(u, RULE_SP, 4 * WORD, 0) == !BY_RECORDS);
}

TEST(any_other_rule_is_kept_with_the_code)
{
	struct unwind_cache *u = begin();
	const uint64_t rule = rule_pack(RULE_SLOW, 0, 0);
	const struct call *call = call_of(u, rule);
	uint32_t before = asked;

	CHECK(call->shape == (FRAME_SLOW | FRAME_USES_BP | FRAME_BY_RULE));
	CHECK_EQ(mt_unwind_rule_of(mt_stacks_code_at(call->code)->pc, call->code), rule);
	CHECK_EQ(asked, before);
	CHECK_EQ(mt_unwind_rule_of(FIRST_PC, 0), rule);
	CHECK_EQ(asked, before + 1);
}

#define CHILDREN 12u /* more than a node lists */
#define FIRST_CODE 1000u
#define EDGES 30000u

static node_id reached[EDGES];

static code_id code_of(uint32_t edge)
{
	return FIRST_CODE + edge % CHILDREN;
}

/* A tree: how many of its first `edges` lead elsewhere than in the trie. */
static uint32_t astray(struct unwind_cache *u, uint32_t edges)
{
	uint32_t bad = 0;

	for (uint32_t i = 1; i < edges; i++)
		bad += unwind_edge(u, reached[i / CHILDREN], code_of(i), NEED_WHOLE) != reached[i];
	return bad;
}

static void make_tree(void)
{
	mt_stacks_init();
	for (uint32_t i = 1; i < EDGES; i++)
		reached[i] = mt_stacks_child(reached[i / CHILDREN], code_of(i), NEED_WHOLE);
}

TEST(edges_lead_where_the_trie_does)
{
	struct unwind_cache *u = begin();
	uint32_t sets = u->edge_mask + 1;
	node_id child;

	make_tree();
	for (int round = 0; round < 10; round++)
		CHECK_EQ(astray(u, 200), 0);
	CHECK_EQ(u->lists_first, 0);
	CHECK_EQ(u->edge_mask + 1, sets);
	for (int round = 0; round < 10; round++)
		CHECK_EQ(astray(u, EDGES), 0);
	CHECK_EQ(u->lists_first, NO_NODE);
	CHECK(u->edge_mask + 1 > sets);
	CHECK_EQ(astray(u, 200), 0);
	CHECK(!unwind_edge_known(u, NO_NODE, FIRST_CODE, &child));
}

TEST(edges_that_seldom_miss_stay)
{
	static struct thread other;
	struct unwind_cache *u = mt_unwind_cache(&other, 64);
	uint32_t sets = u->edge_mask + 1;

	make_tree();
	for (uint32_t edges = 2; edges < 3000; edges++) {
		u->passes += 1000;
		CHECK_EQ(astray(u, 2), 0);
		CHECK_EQ(unwind_edge(u, reached[edges / CHILDREN], code_of(edges), NEED_WHOLE),
			 reached[edges]);
	}
	CHECK_EQ(u->edge_mask + 1, sets);
	CHECK_EQ(u->lists_first, 0);
}
