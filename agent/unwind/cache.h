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
	uint16_t cfa;       /* no FRAME_BY_RULE: words from its register up to the CFA */
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

#define NO_NODE UINT32_MAX /* never a node's number */

struct edge_entry {
	node_id parent;
	code_id code; /* 0 = empty */
	node_id child;
};

struct frame; /* unwind/incremental.h */
struct pair;

struct unwind_cache {
	_Atomic uintptr_t xwalking; /* stack pointer of the capture under way, 0 = none */
	uint64_t passes;            /* captures begun: an interrupted one sees it change */
	uint32_t generation;        /* of the maps when pcs[] was filled */
	uint32_t suspicion;         /* mt_maps_suspicion then */
	uint32_t age;               /* mt_unwind_evidence_age then */
	size_t bytes;               /* of this mapping */
	struct effort effort;       /* all but captures, which is `passes` */
	struct known known;

	uint32_t capacity;    /* frames that fit */
	uint32_t asked;       /* the depth limit that the kept stack was begun with; 0 = none was */
	uint32_t depth;       /* ... of which so many fit */
	uint32_t count;       /* frames kept, 0 = none */
	uint32_t base;        /* enum mtw_truncation below which the kept stack hangs */
	uintptr_t zero_at;    /* the return address of 0 that ends the kept stack; 0 = none */
	struct frame *frames; /* capacity: the kept stack, outermost first */
	/* the end of room for `capacity`: new frames of it, laid down from there */
	struct frame *fresh_end;
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
	uint64_t edges_since;        /* `passes` when edges_left was set */
	/* NO_NODE: they are too many for the table, so it has only those to children that are in no
	 * list; 0: not yet. One comparison tells so, and that a node is none. */
	node_id lists_first;
};

extern const uintptr_t mt_unwind_zero;

/* A pair that never holds. */
MT_INLINE struct pair unwind_never(void)
{
	return (struct pair){ 1, (uintptr_t)(&mt_unwind_zero + 1) };
}

/* The step from a pc to its caller, by the engine in use: unwind/unwind.c sets it. */
extern unwind_rule mt_unwind_rule;

/* Made when missing or too small for `depth`; NULL: no memory. */
struct unwind_cache *mt_unwind_cache(struct thread *t, uint32_t depth);
void mt_unwind_cache_settle(struct unwind_cache *u); /* drop entries that an unload made stale */
void mt_unwind_pc_slow(struct unwind_cache *u, uintptr_t pc); /* puts it in front */
/* The engine's rule for a pc that was looked up, with its code. */
uint64_t mt_unwind_rule_of(uintptr_t pc, code_id code);
/* The same by the pc alone, which it interns: any thread, also in a signal handler. */
uint64_t mt_unwind_shared_rule(uintptr_t pc);
/* An edge that is not cached. 0: there is no such child. A code is never 0 in what follows. */
node_id mt_unwind_edge_slow(struct unwind_cache *u, node_id parent, code_id code);

/* Those of one code lie together if its parents have neighbouring numbers. */
MT_INLINE struct edge_entry *unwind_edge_set(const struct unwind_cache *u, node_id parent,
					     code_id code)
{
	return u->edges[(parent + code * 0x9e3779b1u) & u->edge_mask];
}

MT_INLINE bool edge_is(const struct edge_entry *e, node_id parent, code_id code)
{
	return e->code == code && e->parent == parent;
}

MT_INLINE bool edge_cached(const struct unwind_cache *u, node_id parent, code_id code,
			   node_id *child)
{
	const struct edge_entry *set = unwind_edge_set(u, parent, code);

	if (likely(edge_is(&set[0], parent, code))) {
		*child = set[0].child;
		return true;
	}
	*child = set[1].child;
	return edge_is(&set[1], parent, code);
}

/* Is it known at once where the code leads to from `parent`, which may be NO_NODE? Then *child is
 * it. */
MT_INLINE bool unwind_edge_known(const struct unwind_cache *u, node_id parent, code_id code,
				 node_id *child)
{
	if (unlikely(parent < u->lists_first)) {
		struct node *at;
		uint32_t older;
		*child = stacks_listed(stacks_node(parent), node_step(parent, code), &at, &older);
		return *child;
	}
	return edge_cached(u, parent, code, child);
}

MT_INLINE uint64_t unwind_pc_hash(uintptr_t pc)
{
	return pc * UINT64_C(0x9e3779b97f4a7c15);
}

/* The place of a pc in front. */
MT_INLINE struct pc_entry *unwind_front(struct unwind_cache *u, uintptr_t pc)
{
	size_t all = FRONT * sizeof(struct pc_entry);
	uint64_t hash = unwind_pc_hash(pc);

	if (all & (all - 1))
		return &u->front[hash >> (64 - FRONT_BITS)];
	/* the same, as an offset: an instruction less */
	size_t at = (size_t)(hash / (UINT64_MAX / all + 1)) & ~(sizeof(struct pc_entry) - 1);
	return (struct pc_entry *)((char *)u->front + at);
}

/* Is recursion folded? By fold_recursion=on, or by the server. */
extern _Atomic bool mt_unwind_folds;
MT_INLINE bool unwind_folds_recursion(void)
{
	return atomic_load_explicit(&mt_unwind_folds, memory_order_relaxed);
}

MT_INLINE const struct call *unwind_pc(struct unwind_cache *u, uintptr_t pc)
{
	const struct pc_entry *e = unwind_front(u, pc);

	if (unlikely(e->pc != pc))
		mt_unwind_pc_slow(u, pc);
	return &e->call;
}

/* Makes it if need be; 0 when the need's share of memory is taken. */
MT_INLINE node_id unwind_edge(struct unwind_cache *u, node_id parent, code_id code, enum need need)
{
	node_id child;

	if (unlikely(!unwind_edge_known(u, parent, code, &child)))
		child = mt_unwind_edge_slow(u, parent, code);
	return likely(child) ? child : mt_stacks_child(parent, code, need);
}

#pragma GCC visibility pop

#endif
