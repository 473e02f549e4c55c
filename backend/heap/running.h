/* SPDX-License-Identifier: MIT
 *
 * running.h - running sums of four numbers over a list: entry k has those before k, the last one
 * has all. So the sum of any range is a difference of two entries. Immutable once made; any thread.
 *
 * Of 64 entries each number is kept as what it has more than the first, in as many bytes as the
 * largest needs, the lowest first: sums of a few megabytes take two or three bytes each. All of
 * them are exact modulo 2^64.
 */
#ifndef HEAP_RUNNING_H
#define HEAP_RUNNING_H

#include "heap/quad.h"

#include <endian.h>
#include <string.h>

#define RUNNING_BLOCK 64u

struct running_block {
	struct quad before; /* the first entry */
	uint32_t at;        /* where its bytes begin, in words of 8 */
	uint8_t width[4];   /* bytes of each of its entries, by number: 0 to 8 */
};

struct running_sums {
	uint32_t count; /* and one entry more */
	struct running_block *blocks;
	uint8_t *bytes; /* of a block: all entries' first numbers, then all second ones, ... */
};

/* Writes one: what each of the list has, in its order. */
struct running_pen {
	struct running_sums *to;
	uint32_t at, words; /* entries, and 8 bytes, that are written */
	struct quad sum, list[RUNNING_BLOCK];
};

/* Reads one: what each has, in the order of the list; a block at a time. */
struct running_reader {
	const struct running_sums *of;
	uint32_t at;
	struct quad list[RUNNING_BLOCK + 1];
};

/* For at most so many. */
void running_begin(struct running_pen *p, struct running_sums *to, uint32_t most);
void running_flush(struct running_pen *p); /* for running_put() */
void running_end(struct running_pen *p);
void running_look(struct running_reader *r); /* for running_next() */
void running_release(struct running_sums *r);

static inline void running_put(struct running_pen *p, struct quad own)
{
	uint64_t *to = p->list[p->at++ % RUNNING_BLOCK].n, *sum = p->sum.n;

	/* not in pairs: none of the numbers was written as a half of one */
	to[0] = sum[0];
	to[1] = sum[1];
	to[2] = sum[2];
	to[3] = sum[3];
	sum[0] += own.n[0];
	sum[1] += own.n[1];
	sum[2] += own.n[2];
	sum[3] += own.n[3];
	if (p->at % RUNNING_BLOCK == 0)
		running_flush(p);
}

/* There are eight bytes. */
static inline uint64_t running_more(const uint8_t *at, unsigned width)
{
	uint64_t n;

	memcpy(&n, at, sizeof n);
	return width < 8 ? le64toh(n) & ((1ull << 8 * width) - 1) : le64toh(n);
}

static inline struct quad running_at(const struct running_sums *r, uint32_t k)
{
	const struct running_block *b = &r->blocks[k / RUNNING_BLOCK];
	const uint8_t *at = r->bytes + 8ul * b->at;
	uint32_t in = k % RUNNING_BLOCK;
	struct quad q = b->before;

	for (unsigned i = 0; i < 4; at += RUNNING_BLOCK * b->width[i++])
		q.n[i] += running_more(at + in * b->width[i], b->width[i]);
	return q;
}

/* Of the next one, from { .of = ... } on. */
static inline struct quad running_next(struct running_reader *r)
{
	uint32_t in = r->at % RUNNING_BLOCK;

	if (!in)
		running_look(r);
	r->at++;
	return quad_sub(r->list[in + 1], r->list[in]);
}

/* Of first .. end - 1. */
static inline struct quad running_between(const struct running_sums *r, uint32_t first,
					  uint32_t end)
{
	return quad_sub(running_at(r, end), running_at(r, first));
}

#endif
