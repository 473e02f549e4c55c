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
#include "heap/running.h"

/* Over stacks: struct tally. */
struct sums {
	atomic_uint users;
	uint32_t stacks;
	struct running_sums sum;
	/* By stack: it has ever held estimates, of samples; and how many before stack 64 * i. */
	uint64_t *estimate_bits;
	uint32_t *estimates_before;
};

/* The same for what was born and gone between two instants. */
struct changes {
	atomic_uint users;
	struct running_sums sum; /* struct change */
	uint64_t *held_bits;     /* by stack: it had live blocks at the base */
};

/* What was allocated and freed in the window of all rates, of the stacks that did. */
struct heap_rates {
	atomic_uint users;
	uint32_t stacks;
	uint64_t *bits;          /* by stack: it has one */
	uint32_t *before;        /* stack 64 * i: how many before it */
	struct running_sums sum; /* over them: struct rate */
};

struct heap_names; /* heap/names.h */
struct heap_sites; /* heap/sites.h */

/*
 * Whose memory it is: the library of each stack's call site, or of its direct caller. Of a call
 * tree and its names.
 */
enum { HEAP_OWNER_UNKNOWN, HEAP_OWNER_GENERATED, HEAP_OWNER_LIB /* + number of the library */ };
struct heap_owners {
	atomic_uint users;
	bool direct;
	uint32_t count; /* numbers below */
	/* of the call sites of the same snapshot; direct: by stack, NULL otherwise */
	uint32_t *of_site, *of_stack;
};

struct heap {
	atomic_uint users;
	uint64_t interval; /* of the changes; what it means is the maker's */
	/* of all slots together, also what was born and gone since another instant; 0: of none */
	uint64_t since_of;
	struct change since;
	struct skeleton *skeleton;
	struct slots *slots; /* NULL: its amounts are by stack alone (a union, a part) */
	struct sums *sums;
	struct changes *changes;  /* NULL: since the start */
	struct heap_rates *rates; /* NULL: nothing moves */
	/* NULL where nobody asked for them: heap_named() */
	struct heap_names *names;
	struct heap_sites *sites;
	struct heap_owners *owners;
	/* ... and what each holds, by number. A part (heap_part()) has none. */
	struct heap_site *of_site;
	struct amounts *of_owner;
};

/* After columns_settle(). base NULL: the start of the program. The caller holds it. */
struct heap *heap_new(const struct columns *c, const struct base *base);
/* Of each stack's own amount. estimates: which have ever held some; it takes them. The caller holds
 * it. */
struct heap *heap_of(struct skeleton *s, const struct tally *own, uint64_t *estimates);
struct heap *heap_hold(struct heap *h);
void heap_drop(struct heap *h); /* NULL: nothing */
/*
 * heap/named.c: the same amounts, with what they are called. Sites and owners are those of `last`
 * (NULL: none) if it is of the same tree, names and rule. The caller holds it.
 */
struct heap *heap_named(const struct heap *h, struct heap_names *n, bool direct,
			const struct heap *last);
/* The owner of a node, as if it were a stack. */
uint32_t heap_owner(const struct skeleton *s, const struct heap_names *n, uint32_t node,
		    bool direct);
/* Of a snapshot with names. */
uint32_t heap_owner_of_stack(const struct heap *h, uint32_t stack);
void heap_owners_drop(struct heap_owners *o); /* NULL: nothing */

/* Of a node: with all that is below it; its own. */
struct tally heap_incl(const struct heap *h, uint32_t node);
struct tally heap_self(const struct heap *h, uint32_t node);
struct change heap_change_of_stack(const struct heap *h, uint32_t stack);
bool heap_held_at_base(const struct heap *h, uint32_t node);
/* All of them, of the node with what is below it; its own. */
struct amounts heap_amounts(const struct heap *h, uint32_t node);
struct amounts heap_self_amounts(const struct heap *h, uint32_t node);
struct amounts heap_amounts_of_stack(const struct heap *h, uint32_t stack);

/* Of the stacks first .. end - 1. */
static inline struct tally heap_of_stacks(const struct heap *h, uint32_t first, uint32_t end)
{
	return tally_of_quad(running_between(&h->sums->sum, first, end));
}
/* Since the start all that is alive was born. */
static inline struct change heap_born(const struct tally *t)
{
	return (struct change){ .born_blocks = live_blocks(t), .born_bytes = live_bytes(t) };
}

static inline struct tally heap_of_stack(const struct heap *h, uint32_t stack)
{
	return heap_of_stacks(h, stack, stack + 1);
}

/*
 * heap/part.c: the stacks whose bit is set, and nothing of the others: what passes a filter. live,
 * by stack, takes the place of what such a stack holds; NULL: all of it counts.
 */
struct heap *heap_part(const struct heap *h, const uint64_t *bits, const struct live *live);

/*
 * heap/rates.c: of at most `most` stacks, which come in their order.
 */
struct rates_pen {
	struct heap_rates *to;
	struct running_pen pen;
	uint32_t stack; /* the last one; its rate so far */
	struct rate rate;
};
void heap_rates_begin(struct rates_pen *p, uint32_t stacks, uint32_t most);
void heap_rates_put(struct rates_pen *p, uint32_t stack, const struct rate *rate);
struct heap_rates *heap_rates_end(struct rates_pen *p); /* NULL: of none */
/* Of all that have one, in their order. */
void heap_rates_each(const struct heap_rates *r,
		     void each(void *arg, uint32_t stack, const struct rate *rate), void *arg);
struct rate heap_rates_between(const struct heap_rates *r, uint32_t first, uint32_t end);
void heap_rates_drop(struct heap_rates *r);

/* heap/order.c: all stacks by live bytes, the largest first, equal ones in the tree's order. */
void heap_order(const struct heap *h, uint32_t *stacks);

#endif
