/* SPDX-License-Identifier: MIT
 *
 * quad.h - the four numbers of an item, in 8 bytes for as long as they are small: of a million call
 * paths few allocated thousands of blocks or a megabyte. One with a larger number moves into a
 * table for good, so all are exact modulo 2^64.
 */
#ifndef HEAP_QUAD_H
#define HEAP_QUAD_H

#include "model/paths/types.h"

#include <stdlib.h>

struct quad {
	uint64_t n[4];
};

struct narrow {
	uint64_t n; /* 12, 20, 12 and 20 bits; the first NARROW_NOT: the others index the table */
};
#define NARROW_NOT 0xfffu
#define NARROW_FEW 12u  /* bits of the first and third number, of blocks */
#define NARROW_MANY 20u /* ... and of the second and fourth, of bytes */

struct wide { /* the table */
	struct quad *list;
	size_t count, room;
};

static inline void quad_add(struct quad *to, struct quad q)
{
	for (unsigned i = 0; i < 4; i++)
		to->n[i] += q.n[i];
}
static inline struct quad quad_sub(struct quad a, struct quad b)
{
	return (struct quad){ { a.n[0] - b.n[0], a.n[1] - b.n[1], a.n[2] - b.n[2],
				a.n[3] - b.n[3] } };
}

static inline struct quad quad_of_tally(const struct tally *t)
{
	return (struct quad){ { t->alloc_blocks, t->alloc_bytes, t->free_blocks, t->free_bytes } };
}
static inline struct tally tally_of_quad(struct quad q)
{
	return (struct tally){ q.n[0], q.n[1], q.n[2], q.n[3] };
}
static inline struct quad quad_of_change(const struct change *c)
{
	return (struct quad){ { c->born_blocks, c->born_bytes, c->gone_blocks, c->gone_bytes } };
}
static inline struct change change_of_quad(struct quad q)
{
	return (struct change){ q.n[0], q.n[1], q.n[2], q.n[3] };
}
static inline struct quad quad_of_rate(const struct rate *r)
{
	return (struct quad){ { r->blocks, r->bytes, 0, r->freed } };
}
static inline struct rate rate_of_quad(struct quad q)
{
	return (struct rate){ .blocks = q.n[0], .bytes = q.n[1], .freed = q.n[3] };
}

static inline bool narrow_is_wide(const struct narrow *x)
{
	return (x->n & NARROW_NOT) == NARROW_NOT;
}
static inline struct quad narrow_get(const struct narrow *x, const struct wide *w)
{
	uint64_t n = x->n;

	if (narrow_is_wide(x))
		return w->list[n >> NARROW_FEW];
	return (struct quad){ { n & 0xfff, n >> 12 & 0xfffff, n >> 32 & 0xfff, n >> 44 } };
}
/* For passes over many: no number of it becomes a half of a pair, which takes as long again. */
static inline void narrow_add(uint64_t to[4], const struct narrow *x, const struct wide *w)
{
	uint64_t n = x->n;

	if (narrow_is_wide(x)) {
		const uint64_t *q = w->list[n >> NARROW_FEW].n;

		to[0] += q[0];
		to[1] += q[1];
		to[2] += q[2];
		to[3] += q[3];
		return;
	}
	to[0] += n & 0xfff;
	to[1] += n >> 12 & 0xfffff;
	to[2] += n >> 32 & 0xfff;
	to[3] += n >> 44;
}
static inline void narrow_set(struct narrow *x, struct wide *w, struct quad q)
{
	bool fits = q.n[0] < NARROW_NOT && q.n[2] >> NARROW_FEW == 0 &&
		    (q.n[1] | q.n[3]) >> NARROW_MANY == 0;

	if (!narrow_is_wide(x) && fits) {
		x->n = q.n[0] | q.n[1] << 12 | q.n[2] << 32 | q.n[3] << 44;
		return;
	}
	if (!narrow_is_wide(x)) {
		GROW(w->list, w->room, w->count + 1);
		x->n = NARROW_NOT | (uint64_t)w->count++ << NARROW_FEW;
	}
	w->list[x->n >> NARROW_FEW] = q;
}
static inline void wide_release(struct wide *w)
{
	free(w->list);
	*w = (struct wide){ 0 };
}

/* What was alive in each item of a list. */
struct live_list {
	struct narrow *list; /* NULL: there is none */
	struct wide wide;
};
static inline struct live live_list_at(const struct live_list *h, uint32_t i)
{
	struct quad q = narrow_get(&h->list[i], &h->wide);

	return (struct live){ q.n[0], q.n[1] };
}
static inline void live_list_put(struct live_list *h, uint32_t i, struct live x)
{
	narrow_set(&h->list[i], &h->wide, (struct quad){ { x.blocks, x.bytes } });
}
static inline void live_list_release(struct live_list *h)
{
	free(h->list);
	h->list = NULL;
	wide_release(&h->wide);
}

#endif
