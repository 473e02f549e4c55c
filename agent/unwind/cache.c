/* SPDX-License-Identifier: MIT
 *
 * cache.c - a thread's caches of pcs and trie edges, and the slow ways to fill them.
 *
 * In a set of either the newest entry goes first, and the others move on by one. A miss on a pc
 * looks in the shared cache (unwind/stacks.c keeps the rule with the location). A compiler meets
 * 20,000 pcs: at random in a table for all of them, each lookup would miss the processor's own
 * caches. So the pcs met last have a small table in front of it.
 *
 * An edge that is met is cached. A program with few stacks so finds each child at once, wherever it
 * is among its parent's. One with more edges than a small table holds would have its own caches
 * evicted by a large one, and meets each edge seldom. There the lists are better: seven of ten
 * nodes have one child, which lies beside its parent. So such a thread looks in the list first,
 * and caches only edges to children that are in none.
 *
 * With fold_recursion=on, and when memory gets short (server/commands.c), a call site that is
 * already on a path leads back to it instead of making a new step: main > walk > visit > walk >
 * leaf is main > walk > leaf. So a path is no longer than the number of call sites, and recursion
 * makes few paths. A cached edge keeps where it led.
 *
 * A table that is too small is replaced by a larger one, up to a limit: a thread with few stacks
 * touches few pages, and a compiler's gets the size that it needs. The edges' table gets four times
 * the size, empty, when it missed as often as it has entries. The pcs' table gets twice the size,
 * with its entries, when it lost as many as it has sets. Old tables stay mapped, because an
 * interrupted capture may be looking at them; all together they take no more than the new one.
 */
#include "unwind/cache.h"
#include "base/arena.h"
#include "base/prim_linux.h"
#include "modules/maps.h"
#include "unwind/fp_evidence.h"
#include "unwind/incremental.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>
#include <string.h>

#define PC_SETS 32u /* 2 KiB; to begin with */
#define PC_SETS_MAX 8192u
#define EDGE_SETS 256u      /* 6 KiB */
#define EDGE_SETS_FEW 4096u /* 96 KiB: for all edges */
#define EDGE_SETS_MAX 16384u
#define SELDOM 16u /* captures for each miss */
#define LEAST_FRAMES 160u
#define MOST_FRAMES 8192u
#define SLACK 64 /* an interrupted capture may write a frame's pairs too many */

unwind_rule mt_unwind_rule = BEST_RULE;
_Atomic bool mt_unwind_folds;
const uintptr_t mt_unwind_zero;

static struct unwind_cache *map_cache(uint32_t frames)
{
	size_t tables = PC_SETS * sizeof(struct pc_set) + EDGE_SETS * sizeof(struct edge_entry[2]);
	size_t bytes = sizeof(struct unwind_cache) + tables + sizeof(struct frame) +
		       sizeof(struct pair) +
		       frames * (2 * sizeof(struct frame) + 3 * sizeof(struct pair));
	struct unwind_cache *u;

	bytes = (bytes + SLACK + 4095) & ~(size_t)4095;
	u = mt_prim_map(bytes, false);
	if (!u)
		return NULL;
	u->bytes = bytes;
	u->capacity = frames;
	u->pcs = (struct pc_set *)(u + 1);
	u->pc_mask = PC_SETS - 1;
	u->pcs_left = PC_SETS;
	u->edges = (struct edge_entry(*)[2])(u->pcs + PC_SETS);
	u->edge_mask = EDGE_SETS - 1;
	u->edges_left = 2 * EDGE_SETS;
	u->frames = (struct frame *)(u->edges + EDGE_SETS) + 1;
	u->frames[-1].at.sp = UINTPTR_MAX; /* ends the search for a kept frame */
	u->fresh_end = u->frames + 2 * frames;
	u->pairs = (struct pair *)u->fresh_end + 1;
	u->pairs[-1] = unwind_never(); /* ends the search for a pair that differs */
	u->generation = mt_maps_generation();
	mt_arena_range((uintptr_t)u, bytes, PART_CACHES);
	return u;
}

/* Of zeros; NULL: no memory. */
static void *map_table(size_t bytes)
{
	void *table = mt_prim_map(bytes, false);

	if (table)
		mt_arena_range((uintptr_t)table, bytes, PART_CACHES);
	return table;
}

static struct pc_set *set_of(struct pc_set *pcs, uint32_t mask, uintptr_t pc)
{
	return &pcs[(uint32_t)(unwind_pc_hash(pc) >> 40) & mask];
}

/* A handler that never returns here leaves no call with another pc. */
static void put_entry(struct pc_entry *to, const struct pc_entry *e)
{
	to->pc = 0;
	atomic_signal_fence(memory_order_release);
	to->call = e->call;
	atomic_signal_fence(memory_order_release);
	to->pc = e->pc;
}

/* The newest entry goes first. Returns whether an old one is lost. */
static bool put_pc(struct pc_set *set, const struct pc_entry *e)
{
	bool full = set->way[PC_WAYS - 1].pc;

	for (int i = PC_WAYS - 1; i > 0; i--)
		put_entry(&set->way[i], &set->way[i - 1]);
	put_entry(&set->way[0], e);
	return full;
}

/* With all entries: they spread over two sets each. */
static void grow_pcs(struct unwind_cache *u)
{
	uint32_t sets = u->pc_mask + 1;
	struct pc_set *table = sets < PC_SETS_MAX ? map_table(2 * sets * sizeof(*table)) : NULL;

	u->pcs_left = table ? 2 * sets : UINT64_MAX;
	if (!table)
		return;
	for (uint32_t i = 0; i < sets; i++)
		for (int way = PC_WAYS - 1; way >= 0; way--) {
			const struct pc_entry *e = &u->pcs[i].way[way];
			if (e->pc)
				put_pc(set_of(table, 2 * sets - 1, e->pc), e);
		}
	u->pc_mask = 0; /* an interruption finds less, but nothing wrong */
	atomic_signal_fence(memory_order_seq_cst);
	u->pcs = table;
	atomic_signal_fence(memory_order_seq_cst);
	u->pc_mask = 2 * sets - 1;
}

/* The edges missed as often as there are entries. If that took many captures, they are well enough
 * as they are. */
static void grow_edges(struct unwind_cache *u)
{
	uint32_t sets = u->edge_mask + 1;
	bool seldom = u->passes - u->edges_since > SELDOM * 2 * (uint64_t)sets,
	     give_up = sets >= EDGE_SETS_FEW && !u->lists_first;

	u->edges_since = u->passes;
	u->edges_left = 2 * (uint64_t)sets;
	if (seldom)
		return;
	void *table =
		!give_up && sets < EDGE_SETS_MAX ? map_table(4 * sets * sizeof(*u->edges)) : NULL;
	if (!table) {
		u->lists_first = NO_NODE;
		return;
	}
	u->edge_mask = 0;
	atomic_signal_fence(memory_order_seq_cst);
	u->edges = table;
	atomic_signal_fence(memory_order_seq_cst);
	u->edge_mask = 4 * sets - 1;
	u->edges_left = 8 * (uint64_t)sets;
}

struct unwind_cache *mt_unwind_cache(struct thread *t, uint32_t depth)
{
	uint32_t wanted = depth < LEAST_FRAMES  ? LEAST_FRAMES
			  : depth > MOST_FRAMES ? MOST_FRAMES
						: depth;

	if (t->unwind && t->unwind->capacity >= wanted)
		return t->unwind; /* deeper than we go: the engine cuts */
	/* A smaller one stays mapped: it may be in use further out. */
	struct unwind_cache *u = map_cache(wanted);
	if (u && t->unwind) {
		u->passes = u->edges_since = t->unwind->passes;
		u->effort = t->unwind->effort;
	}
	if (u)
		__atomic_store_n(&t->unwind, u, __ATOMIC_RELEASE); /* mt_unwind_effort() */
	return t->unwind;
}

/* Called when the maps are under suspicion, or their generation changed. */
void mt_unwind_cache_settle(struct unwind_cache *u)
{
	u->suspicion = atomic_load_explicit(&mt_maps_suspicion, memory_order_acquire);
	mt_maps_settle();
	uint32_t generation = mt_maps_generation(),
		 age = atomic_load_explicit(&mt_unwind_evidence_age, memory_order_relaxed);
	if (age != u->age)
		u->count = 0;
	u->age = age;
	if (generation == u->generation)
		return;
	u->generation = generation;
	u->count = 0;
	memset(u->pcs, 0, (u->pc_mask + 1) * sizeof(*u->pcs));
	memset(u->front, 0, sizeof(u->front));
	mt_unwind_evidence_forget(&u->known);
}

static uint64_t shared_rule(code_id code, const struct module *m, uintptr_t pc)
{
	_Atomic uint64_t *place = code ? mt_stacks_rule(code) : NULL;
	uint64_t rule = place ? atomic_load_explicit(place, memory_order_relaxed) : 0;

	if (!rule) {
		rule = mt_unwind_rule(m, pc);
		if (place)
			atomic_store_explicit(place, rule, memory_order_relaxed);
	}
	return rule;
}

uint64_t mt_unwind_rule_of(uintptr_t pc, code_id code)
{
	return code ? atomic_load_explicit(mt_stacks_rule(code), memory_order_relaxed)
		    : mt_unwind_rule(mt_maps_find(pc_lookup(pc)), pc);
}

static uint32_t shape_of(uint64_t rule)
{
	uint32_t shape = FRAME_BY_RULE | (rule & RULE_OWN ? FRAME_OWN : 0);

	switch (rule & RULE_KIND) {
	case RULE_FAST:
		return shape | (rule_uses_bp(rule) ? FRAME_USES_BP : 0) |
		       (rule & RULE_SAVED ? FRAME_SAVED : 0) | (rule & RULE_WORD ? FRAME_WORD : 0);
	case RULE_SIGNAL: return shape | FRAME_SIGNAL | FRAME_SAVED;
	case RULE_PROVE: return shape | FRAME_USES_BP | FRAME_SAVED;
	case RULE_SLOW: return shape | FRAME_SLOW | FRAME_USES_BP;
	}
	return shape;
}

/* Steps outwards within the frame, by whole words, and no more of them than a call can hold: its
 * rule is in the call. */
static void make_plain(struct call *call, uint64_t rule)
{
	const intptr_t word = sizeof(uintptr_t), most = UINT16_MAX * word;
	intptr_t cfa = rule_cfa(rule), bp = -rule_bp(rule);
	bool saved = rule & RULE_SAVED;

	if (rule & (RULE_KIND | RULE_WORD) || cfa <= 0 || cfa > most || cfa % word)
		return;
	if (saved ? bp % word || bp > cfa || bp < (BY_RECORDS ? 2 * word : word) : BY_RECORDS)
		return;
	call->shape &= ~FRAME_BY_RULE;
	call->cfa = (uint16_t)(cfa / word);
	call->bp = (uint16_t)(bp / word);
}

static code_id code_at(uintptr_t pc, const struct module *m)
{
	return mt_stacks_code_in(pc_bare(pc), pc & PC_EXACT ? MTW_NODE_SIGNAL : MTW_NODE_CODE, m);
}

uint64_t mt_unwind_shared_rule(uintptr_t pc)
{
	const struct module *m = mt_maps_find(pc_lookup(pc));

	return shared_rule(m ? code_at(pc, m) : 0, m, pc);
}

static MT_COLD struct pc_entry make_entry(uintptr_t pc)
{
	struct module *m = mt_maps_find(pc_lookup(pc));
	uint32_t flags = m ? atomic_load_explicit(&m->xflags, memory_order_relaxed) : 0;
	/* Linked statically, the agent is part of the program: nothing is skipped then. */
	uint64_t own =
		(flags & (MTW_MODULE_AGENT | MTW_MODULE_MAIN)) == MTW_MODULE_AGENT ? RULE_OWN : 0;
	struct pc_entry e = { .pc = pc };

	if (!m) /* no return address at all? */
		own |= mt_unwind_rule(m, pc) & RULE_OWN;
	if (!own)
		e.call.code = code_at(pc, m);
	uint64_t rule = shared_rule(e.call.code, m, pc) | own;
	e.call.shape = shape_of(rule);
	if (likely(e.call.code || own)) /* else it is no common frame: unwind/incremental.c */
		make_plain(&e.call, rule);
	return e;
}

void mt_unwind_pc_slow(struct unwind_cache *u, uintptr_t pc)
{
	struct pc_entry *front = unwind_front(u, pc);
	struct pc_set *set = set_of(u->pcs, u->pc_mask, pc);
	int way = 0;

	while (way < PC_WAYS && set->way[way].pc != pc)
		way++;
	if (likely(way < PC_WAYS)) {
		put_entry(front, &set->way[way]);
		return;
	}
	struct pc_entry e = make_entry(pc);
	u->effort.pc_misses++;
	put_entry(front, &e);
	if (put_pc(set, &e) && --u->pcs_left == 0)
		grow_pcs(u);
}

/* The node of `code` on the path to `node`, 0 = there is none. */
static node_id met_before(node_id node, code_id code)
{
	for (; node; node = node_parent(mt_stacks_node(node)))
		if (node_code(mt_stacks_node(node)) == code)
			break;
	return node;
}

/* A handler that never returns here leaves no edge to another child. */
static void put_edge(struct edge_entry *to, const struct edge_entry *e)
{
	to->code = 0;
	atomic_signal_fence(memory_order_release);
	to->parent = e->parent;
	to->child = e->child;
	atomic_signal_fence(memory_order_release);
	to->code = e->code;
}

node_id mt_unwind_edge_slow(struct unwind_cache *u, node_id parent, code_id code)
{
	struct node *at;
	uint32_t older;
	node_id child;

	child = stacks_listed(stacks_node(parent), node_step(parent, code), &at, &older);
	if (!child) {
		bool folds = unwind_folds_recursion();
		if (likely(older < LISTED && !folds))
			return 0;
		if (u->lists_first && edge_cached(u, parent, code, &child))
			return child;
		child = unlikely(folds) ? met_before(parent, code) : 0;
		if (!child && older >= LISTED)
			child = mt_stacks_hashed(parent, code);
		if (!child)
			return 0;
		u->effort.edge_misses++;
	}
	if (unlikely(--u->edges_left == 0))
		grow_edges(u);
	uint64_t pass = u->passes;
	atomic_signal_fence(memory_order_seq_cst);
	struct edge_entry *set = unwind_edge_set(u, parent, code), before = set[0];
	put_edge(&set[1], &before);
	put_edge(&set[0], &(struct edge_entry){ parent, code, child });
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(u->passes != pass)) /* a handler's capture was here, and left for a while */
		set[0].code = set[1].code = 0;
	return child;
}
