/* SPDX-License-Identifier: MIT
 *
 * heap.h - the heap at one instant: an immutable snapshot, from which every answer is computed by
 * plain functions. Any thread.
 *
 * Its parts live on their own and are shared between snapshots: the call tree (skeleton.h) as long
 * as no node comes, the sums as long as no counter moves. All numbers wrap modulo 2^64, as the
 * wire's do, so differences stay exact whatever a peer sends.
 *
 *     heap_incl(h, n) = heap_self(h, n) + the sum of heap_incl() over n's children
 *     heap_incl(h, 0) = the session's totals, when its state is whole
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "heap/columns.h"

/* Running sums over stacks: entry k has the stacks before k, the last one has all. */
struct sums {
	atomic_uint users;
	uint32_t stacks;
	struct tally *sum;
	/* By stack: it has ever held estimates, of samples; and how many before stack 64 * i. */
	uint64_t *estimate_bits;
	uint32_t *estimates_before;
};

/* The same for what was born and gone between two instants. */
struct changes {
	atomic_uint users;
	uint32_t stacks;
	struct change *sum;
	uint64_t *held_bits; /* by stack: it had live blocks at the base */
};

struct heap {
	atomic_uint users;
	struct skeleton *skeleton;
	struct sums *sums;
	struct changes *changes; /* NULL: since the start */
};

/*
 * What each slot held at two instants, by place in the columns: `from` NULL = nothing, the start;
 * `until` NULL = now. Born and gone are counted by slot: two slots of one stack never make up for
 * each other.
 */
struct base {
	const struct live *from, *until;
};

/* After columns_settle(). base NULL: the start of the program. The caller holds it. */
struct heap *heap_new(const struct columns *c, const struct base *base);
/* Without amounts. Whoever makes one enters each stack's own amount in sums->sum[stack], and its
 * estimate bit; heap_add_up() makes the running sums of them, once. The caller holds it. */
struct heap *heap_empty(struct skeleton *s);
void heap_add_up(struct heap *h);
struct heap *heap_hold(struct heap *h);
void heap_drop(struct heap *h);

/* Of a node: with all that is below it; its own. */
struct tally heap_incl(const struct heap *h, uint32_t node);
struct tally heap_self(const struct heap *h, uint32_t node);
/* Stacks at the node and below with a share of estimates; 0 = heap_incl() is exact. */
uint32_t heap_estimates(const struct heap *h, uint32_t node);
struct change heap_change(const struct heap *h, uint32_t node);
struct change heap_self_change(const struct heap *h, uint32_t node);
struct change heap_change_of_stack(const struct heap *h, uint32_t stack);
bool heap_held_at_base(const struct heap *h, uint32_t node);

static inline struct tally heap_of_stack(const struct heap *h, uint32_t stack)
{
	return tally_sub(&h->sums->sum[stack + 1], &h->sums->sum[stack]);
}

/* heap/order.c: all stacks by live bytes, the largest first, equal ones in the tree's order. */
void heap_order(const struct heap *h, uint32_t *stacks);

#endif
