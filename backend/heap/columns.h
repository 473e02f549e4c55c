/* SPDX-License-Identifier: MIT
 *
 * columns.h - the counters of a session, by slot, in the order of their stacks. One thread owns
 * them and takes in what the wire says; a snapshot (heap/heap.h) copies sums out of them.
 *
 * A slot is a counter set of one stack in one epoch. Slots lie in the order of the skeleton's
 * stacks: slots first[k] .. first[k + 1] - 1 are those of stack k. So sums over stacks, and what
 * was born and gone since a base, are one pass over memory.
 *
 * Nodes and slots are named by their order of arrival, from 0; node 0 is the root, which is there.
 */
#ifndef HEAP_COLUMNS_H
#define HEAP_COLUMNS_H

#include "heap/skeleton.h"
#include "model/paths/rate.h"

/*
 * What each slot held at two instants, by place: `from` NULL = nothing, the start; `until` NULL =
 * now. Born and gone are counted by slot: two slots of one stack never make up for each other.
 */
struct base {
	struct live *from, *until;
};

struct slot_arrival {
	uint32_t node, epoch;
};

struct columns {
	struct skeleton *skeleton; /* held; covers all nodes after columns_settle() */
	uint32_t slots;            /* in place */
	uint32_t *place_of;        /* by arrival: where the slot is */
	uint32_t *first;           /* by stack, and one more */
	/* by place */
	struct tally *now;
	uint32_t *epoch;
	uint64_t *weighed_bits; /* has ever held estimates */
	/* In the window of all rates; NULL: nothing came yet. A slot without a bit has none. */
	struct rate *rate;
	uint64_t *rated_bits;
	/* live at both ends of the interval that changes are counted in; NULL: the start, now.
	 * Who sets them gives them away. */
	struct base base;

	/* what came since the last columns_settle() */
	struct arrival *nodes_came;
	struct slot_arrival *slots_came;
	size_t node_count, node_room, slot_count, slot_room;
	uint64_t *is_stack; /* by arrival of nodes */
	size_t stack_room;
	bool moved; /* a node became a stack */
};

/* What came since, gathered by who follows a session; the columns take all of it at once. */
struct heap_batch {
	struct arrival *nodes;
	struct slot_arrival *slots;
	struct batch_count { /* cumulative; by order of arrival */
		uint32_t slot;
		bool weighed;
		struct tally now;
	} * counts;
	struct rate_entry *rates; /* to be added */
	struct batch_expired {    /* ... and taken away; owned */
		struct rate_entry *entries;
		size_t count;
	} * expired;
	size_t node_count, node_room, slot_count, slot_room, count_count, count_room;
	size_t rate_count, rate_room, expired_count, expired_room;
};
void heap_batch_release(struct heap_batch *b);

void columns_init(struct columns *c);
/* Takes the batch, which is empty then, into place. */
void columns_take(struct columns *c, struct heap_batch *b);
void columns_release(struct columns *c);
/* Their place in the order of arrival. The caller has checked parent and node: they came before. */
uint32_t columns_add_node(struct columns *c, uint32_t parent, uint32_t location, uint32_t id,
			  bool by_pointer);
uint32_t columns_add_slot(struct columns *c, uint32_t node, uint32_t epoch);
/* Puts what came into place. True: the skeleton is another one. Before counts of new slots. */
bool columns_settle(struct columns *c);
/* For reports: siblings by the rank of their location, 0 .. ranks - 1. After columns_settle(). */
void columns_rank(struct columns *c, const uint32_t *rank, uint32_t ranks);
/* Its stack. After columns_settle(). */
static inline uint32_t columns_stack(const struct columns *c, uint32_t node)
{
	return skeleton_first(c->skeleton, c->skeleton->node_of[node]);
}
/* A slot's counters, cumulative. */
static inline void columns_count(struct columns *c, uint32_t slot, const struct tally *now,
				 bool weighed)
{
	uint32_t at = c->place_of[slot];

	c->now[at] = *now;
	if (weighed)
		c->weighed_bits[at / 64] |= 1ull << at % 64;
}

#endif
