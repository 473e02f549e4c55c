/* SPDX-License-Identifier: MIT
 *
 * running.h - running sums of four numbers over a list: entry k has those before k, the last one
 * has all. So the sum of any range is a difference of two entries. Immutable once made; any thread.
 *
 * Kept as 32 bits from the beginning of a block of 64, or as they are where that is too little. All
 * of them are exact modulo 2^64.
 */
#ifndef HEAP_RUNNING_H
#define HEAP_RUNNING_H

#include "heap/quad.h"

#define RUNNING_BLOCK 64u

struct running_block {
	struct quad before;
	struct quad *wide; /* of the block's entries; NULL: they are `before` and what is in low */
};

struct running_sums {
	uint32_t count; /* and one entry more */
	struct running_block *blocks;
	uint32_t (*low)[4];
};

/* Writes one: what each of the list has, in its order. */
struct running_pen {
	struct running_sums *to;
	uint32_t at;
	struct quad sum, list[RUNNING_BLOCK];
};

/* For at most so many. */
void running_begin(struct running_pen *p, struct running_sums *to, uint32_t most);
void running_flush(struct running_pen *p); /* for running_put() */
void running_end(struct running_pen *p);
void running_release(struct running_sums *r);

static inline void running_put(struct running_pen *p, struct quad own)
{
	p->list[p->at++ % RUNNING_BLOCK] = p->sum;
	quad_add(&p->sum, own);
	if (p->at % RUNNING_BLOCK == 0)
		running_flush(p);
}

static inline struct quad running_at(const struct running_sums *r, uint32_t k)
{
	const struct running_block *b = &r->blocks[k / RUNNING_BLOCK];
	const uint32_t *low = r->low[k];

	if (b->wide)
		return b->wide[k % RUNNING_BLOCK];
	return (struct quad){ { b->before.n[0] + low[0], b->before.n[1] + low[1],
				b->before.n[2] + low[2], b->before.n[3] + low[3] } };
}

/* Of first .. end - 1. */
static inline struct quad running_between(const struct running_sums *r, uint32_t first,
					  uint32_t end)
{
	return quad_sub(running_at(r, end), running_at(r, first));
}

#endif
