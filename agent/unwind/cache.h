/* SPDX-License-Identifier: MIT
 *
 * cache.h - a thread's data for unwinding: recently met pcs with their rules, trie edges, and the
 * last stack.
 *
 * It is mapped at the first capture and used by its owner only. xwalking is set during a capture: a
 * signal handler that allocates meanwhile must not touch it.
 */
#ifndef MT_UNWIND_CACHE_H
#define MT_UNWIND_CACHE_H

#include "base/compiler.h"
#include "base/conf.h"
#include "base/stack_bounds.h"
#include "base/types.h"
#include "unwind/engine.h"
#include "unwind/stacks.h"
#include "unwind/stacks_fast.h"

#pragma GCC visibility push(hidden)

/* A frame's place in the program, and how it is left. */
struct call {
	code_id code : 24;  /* 0 = the agent's own frame, or no room */
	uint32_t shape : 8; /* FRAME_* of unwind/incremental.h */
	uint16_t cfa;       /* FRAME_PLAIN: words from its register up to the CFA */
	uint16_t bp;        /* ... and from where bp is saved */
};

struct pc_entry {
	uintptr_t pc; /* with PC_EXACT; 0 = empty */
	struct call call;
};

#define FRONT_BITS 10
#define FRONT (1u << FRONT_BITS)

/* One cache line, of 64-bit addresses. */
#define PC_WAYS 4
struct pc_set {
	struct pc_entry way[PC_WAYS];
};

struct edge_entry {
	node_id parent;
	code_id code; /* 0 = empty */
	node_id child;
};

struct frame; /* unwind/incremental.h */
struct step;
struct pair;

struct unwind_cache {
	_Atomic uintptr_t xwalking; /* stack pointer of the capture under way, 0 = none */
	uint64_t passes;            /* captures begun: an interrupted one sees it change */
	uint32_t generation;        /* of the maps when pcs[] was filled */
	uint32_t suspicion;         /* mt_maps_suspicion then */
	uint32_t age;               /* mt_unwind_proof_age then */
	size_t bytes;               /* of this mapping */
	struct effort effort;       /* all but captures, which is `passes` */
	struct known known;

	uint32_t capacity;    /* frames that fit */
	uint32_t depth;       /* depth limit of the kept stack */
	uint32_t count;       /* frames kept, 0 = none */
	uint32_t base;        /* enum mtw_truncation below which the kept stack hangs */
	uintptr_t zero_at;    /* the return address of 0 that ends the kept stack; 0 = none */
	struct frame *frames; /* capacity: the kept stack, outermost first */
	/* the end of room for `capacity`: new frames of it, laid down from there */
	struct step *steps_end;
	struct pair *pairs; /* 3 * capacity: pairs to compare, outermost first */
	/* mt_unwind_lasting()'s answer, for stacks with this number in frame 2 and this pc in frame
	 * 3 */
	uint32_t lasting;
	uint64_t lasting_made;
	uintptr_t lasting_pc;

	/* some of pcs[], each at the one place that its pc has here */
	_Alignas(64) struct pc_entry front[FRONT];
	/* A power of two of sets; unwind/cache.c says when a table grows. */
	struct pc_set *pcs;
	struct edge_entry (*edges)[2];
	uint32_t pc_mask, edge_mask; /* sets - 1 */
	uint64_t pcs_left;           /* entries to lose until they grow */
	uint64_t edges_left;         /* misses until they grow */
};

/* The step from a pc to its caller, by the engine in use: unwind/unwind.c sets it. */
extern unwind_rule mt_unwind_rule;

/* Made when missing or too small for `depth`; NULL: no memory. */
struct unwind_cache *mt_unwind_cache(struct thread *t, uint32_t depth);
void mt_unwind_cache_settle(struct unwind_cache *u); /* drop entries that an unload made stale */
const struct call *mt_unwind_pc_slow(struct unwind_cache *u, uintptr_t pc); /* not in front */
/* The engine's rule for a pc that was looked up, with its code. */
uint64_t mt_unwind_rule_of(uintptr_t pc, code_id code);
/* `listed`: so many children are in the parent's list, and none is it. 0: there is no such child.
 */
node_id mt_unwind_edge_slow(struct unwind_cache *u, node_id parent, code_id code, uint32_t listed);

/* Edges to a child that is in no list. Those of one code lie together if its parents have
 * neighbouring numbers. */
MT_INLINE struct edge_entry *unwind_edge_set(const struct unwind_cache *u, node_id parent,
					     code_id code)
{
	return u->edges[(parent + code * 0x9e3779b1u) & u->edge_mask];
}

MT_INLINE uint64_t unwind_pc_hash(uintptr_t pc)
{
	return pc * UINT64_C(0x9e3779b97f4a7c15);
}

/* Is recursion folded? By fold_recursion=on, or by the server. */
extern _Atomic bool mt_unwind_folds;
MT_INLINE bool unwind_folds_recursion(void)
{
	return atomic_load_explicit(&mt_unwind_folds, memory_order_relaxed);
}

MT_INLINE const struct call *unwind_pc(struct unwind_cache *u, uintptr_t pc)
{
	const struct pc_entry *e = &u->front[unwind_pc_hash(pc) >> (64 - FRONT_BITS)];

	return likely(e->pc == pc) ? &e->call : mt_unwind_pc_slow(u, pc);
}

/* Makes it if need be; 0 when the need's share of memory is taken. */
MT_INLINE node_id unwind_edge(struct unwind_cache *u, node_id parent, code_id code, enum need need)
{
	struct node *at;
	uint32_t listed;
	node_id child = stacks_listed(stacks_node(parent), node_step(parent, code), &at, &listed);

	if (!child && unlikely(listed >= LISTED || unwind_folds_recursion()))
		child = mt_unwind_edge_slow(u, parent, code, listed);
	return likely(child) ? child : mt_stacks_child(parent, code, need);
}

#pragma GCC visibility pop

#endif
