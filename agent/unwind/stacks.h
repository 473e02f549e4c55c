/* SPDX-License-Identifier: MIT
 *
 * stacks.h - the trie of stacks and the interned code locations. Insert-only, lock-free readers.
 */
#ifndef MT_UNWIND_STACKS_H
#define MT_UNWIND_STACKS_H

#include "base/arena.h"
#include "base/node.h"
#include "base/types.h"

#define HEAP_PC 1u /* of the location that stands for a heap (record/heaps.c): no code is there */

#pragma GCC visibility push(hidden)

/* finds or inserts; 0: the need's share of memory is taken */
node_id mt_stacks_child(node_id parent, code_id code, enum need need);
/* A child that is not in a full list (unwind/stacks_fast.h); 0 = there is none. */
node_id mt_stacks_hashed(node_id parent, code_id code);
struct node *mt_stacks_node(node_id id); /* never NULL for an id that was returned */
uint32_t mt_stacks_count(void); /* ids 0..count-1; the newest may be unpublished (code 0) */
code_id mt_stacks_code(uintptr_t pc, uint8_t kind); /* interns; truncations: pc = reason */
const struct code *mt_stacks_code_at(code_id id);
node_id mt_stacks_truncated(unsigned reason); /* the root's child that represents it */
/* The node of its innermost frame alone, below TRUNCATED(NODES): for blocks that cannot be counted
 * by stack. A heap (record/heaps.c) is kept with it. */
node_id mt_stacks_call_site(node_id id);
bool mt_stacks_check(void);

/* For the unwinder: a path of new nodes. It reserves n numbers in a row (0 = no room), fills each
 * with its parent and only child (0 = none), and enters the outermost: the answer is that number,
 * or the one of the same step that another thread entered first. */
node_id mt_stacks_reserve(uint32_t n, enum need need);
node_id mt_stacks_enter(node_id id);

/* For the unwinder: the rule kept with a location. */
void mt_stacks_init(void);
code_id mt_stacks_code_in(uintptr_t pc, uint8_t kind, const struct module *m);
uint32_t mt_stacks_code_count(void);
_Atomic uint64_t *mt_stacks_rule(code_id id); /* 0 = not made yet; otherwise it never changes */

#pragma GCC visibility pop

#endif
