/* SPDX-License-Identifier: MIT
 *
 * columns.h - the call paths and counters of a session: the only place where they are. One thread
 * owns them and takes in what the wire says (heap/take.h); a snapshot (heap/heap.h) shares the call
 * tree and the slots, and copies sums out of the counters.
 *
 * Slots (heap/slots.h) lie in the order of the skeleton's stacks: slots first[k] .. first[k + 1] -
 * 1 are those of stack k. So sums over stacks, and what was born and gone since a base, are one
 * pass over memory. New nodes and slots are put into place when somebody wants to look,
 * columns_settle(); until then they lie behind the others, as they came.
 *
 * Nodes and slots are named by their order of arrival, from 0; node 0 is the root, which is there.
 */
#ifndef HEAP_COLUMNS_H
#define HEAP_COLUMNS_H

#include "heap/peak.h"
#include "heap/quad.h"
#include "heap/slots.h"
#include "heap/window.h"

/*
 * What each slot held at two instants, by place: without a list, `from` is the start and `until`
 * now. Born and gone are counted by slot: two slots of one stack never make up for each other.
 */
struct base {
	struct live_list from, until;
};

struct slot_arrival {
	struct tally now;
	uint32_t node, epoch;
	bool weighed;
};

struct grown { /* what a slot has more than at the last tick */
	uint32_t slot;
	struct tally by;
};

struct columns {
	struct skeleton *skeleton; /* held; covers all nodes after columns_settle() */
	struct slots *slots;       /* held; those in place */
	uint32_t *place_of;        /* by arrival: where the slot is */
	uint32_t *first;           /* by stack, and one more */
	/* by place */
	struct narrow *now;     /* struct tally */
	uint64_t *weighed_bits; /* has ever held estimates */
	struct narrow *rate;    /* struct rate, in the window of all; NULL: nobody has one */
	uint64_t *rated_bits;   /* a slot without a bit has none */
	uint32_t rated;         /* how many have */
	struct wide now_wide, rate_wide;
	/* live at both ends of the interval that changes are counted in. Who sets them gives them
	 * away. */
	struct base base;

	/* What came since the last columns_settle(), and the wire's ids of it: columns_node() */
	struct idmap node_ids, slot_ids;
	struct arrival *nodes_came;
	struct slot_arrival *slots_came;
	struct narrow *rates_came; /* of these slots; those past rates_room have none */
	uint32_t *proven_came;     /* older nodes that are by_pointer now */
	size_t node_count, node_room, slot_count, slot_room, rates_room, proven_count, proven_room;
	uint64_t *is_stack; /* by arrival of nodes */
	size_t stack_room;
	bool moved; /* a node became a stack, or is by_pointer */

	/* heap/take.c: the counters are ahead of the last tick by this, or at rest as of it */
	struct grown *grown;
	size_t grown_count, grown_room;
	bool rests;
	uint64_t *sampled_bits; /* by arrival: counters are estimates from samples now */
	size_t sampled_room;
	struct window window;
	struct peak peak;
	/* as of the last tick */
	uint64_t first_epoch;   /* slots of earlier ones were inherited by a fork */
	struct tally inherited; /* ... and hold so much */
	uint64_t sampled_epoch; /* of the first slot that was ever sampled; UINT64_MAX = none */
	bool estimated;         /* some counted slot is weighed */
};

void columns_init(struct columns *c);
void columns_release(struct columns *c);
static inline uint32_t columns_nodes(const struct columns *c)
{
	return c->skeleton->nodes + (uint32_t)c->node_count;
}
static inline uint32_t columns_slots(const struct columns *c)
{
	return c->slots->count + (uint32_t)c->slot_count;
}
/* Their place in the order of arrival. The caller has checked parent and node: they came before. */
uint32_t columns_add_node(struct columns *c, uint32_t parent, uint32_t location, uint32_t id,
			  bool by_pointer);
uint32_t columns_add_slot(struct columns *c, uint32_t node, uint32_t epoch, uint32_t id);
/* Puts what came into place. True: the skeleton is another one. */
bool columns_settle(struct columns *c);
/* For reports: siblings by the rank of their location, 0 .. ranks - 1. After columns_settle(). */
void columns_rank(struct columns *c, const uint32_t *rank, uint32_t ranks);
/*
 * For a model of another instant of the same program: all nodes and slots of `from`, in the same
 * order of arrival. Both are settled. The counters of `c` stay. False: what came to `c` is not the
 * beginning of what came to `from`, nor the other way round.
 */
bool columns_adopt(struct columns *c, const struct columns *from);
/* By the wire's id, in the order of arrival; NO_ID: none. */
static inline uint32_t columns_node(const struct columns *c, uint32_t id)
{
	uint32_t number = idmap_get(&c->skeleton->ids, id);

	return number == NO_ID ? idmap_get(&c->node_ids, id) : number;
}
static inline uint32_t columns_slot(const struct columns *c, uint32_t id)
{
	uint32_t number = idmap_get(&c->slots->ids, id);

	return number == NO_ID ? idmap_get(&c->slot_ids, id) : number;
}
/* Its stack. After columns_settle(). */
static inline uint32_t columns_stack(const struct columns *c, uint32_t node)
{
	return skeleton_first(c->skeleton, c->skeleton->node_of[node]);
}
/* A slot's counters, cumulative; by place. */
static inline struct tally columns_at(const struct columns *c, uint32_t place)
{
	return tally_of_quad(narrow_get(&c->now[place], &c->now_wide));
}
static inline struct tally columns_now(const struct columns *c, uint32_t slot)
{
	uint32_t placed = c->slots->count;

	return slot < placed ? columns_at(c, c->place_of[slot]) : c->slots_came[slot - placed].now;
}
static inline void columns_put(struct columns *c, uint32_t slot, const struct tally *now)
{
	uint32_t placed = c->slots->count;

	if (slot < placed)
		narrow_set(&c->now[c->place_of[slot]], &c->now_wide, quad_of_tally(now));
	else
		c->slots_came[slot - placed].now = *now;
}
static inline uint32_t columns_epoch(const struct columns *c, uint32_t slot)
{
	uint32_t placed = c->slots->count;

	return slot < placed ? c->slots->epoch[slot] : c->slots_came[slot - placed].epoch;
}
/*
 * Slots lie anywhere in memory. Who goes through many fetches what the ones behind need, in steps
 * of which each waits for the one before: COLUMNS_AHEAD apart.
 */
#define COLUMNS_AHEAD 16u
FETCHES columns_expect(const struct columns *c, uint32_t slot)
{
	if (slot < c->slots->count)
		__builtin_prefetch(&c->place_of[slot]);
}
void columns_weigh(struct columns *c, uint32_t slot); /* it has ever held estimates */

/* What came at once, like a first state, is given back. */
#define COLUMNS_KEPT 8192u /* elements */
#define COLUMNS_TRIM(list, room)                                                                   \
	((room) > COLUMNS_KEPT ? (free(list), (void)((list) = NULL), (void)((room) = 0)) : (void)0)

#endif
