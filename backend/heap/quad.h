/* SPDX-License-Identifier: MIT
 *
 * quad.h - the four numbers of an item, in 16 bytes for as long as each has 32 bits. One with a
 * larger number moves into a table for good, so all are exact modulo 2^64.
 */
#ifndef HEAP_QUAD_H
#define HEAP_QUAD_H

#include "model/paths/types.h"

#include <stdlib.h>

struct quad {
	uint64_t n[4];
};

struct narrow {
	uint32_t n[4]; /* the first NARROW_NOT: the second is an index of the table */
};
#define NARROW_NOT UINT32_MAX

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
	return (struct quad){ { r->blocks, r->bytes, r->freed } };
}
static inline struct rate rate_of_quad(struct quad q)
{
	return (struct rate){ .blocks = q.n[0], .bytes = q.n[1], .freed = q.n[2] };
}

static inline struct quad narrow_get(const struct narrow *x, const struct wide *w)
{
	return x->n[0] == NARROW_NOT ? w->list[x->n[1]]
				     : (struct quad){ { x->n[0], x->n[1], x->n[2], x->n[3] } };
}
static inline void narrow_set(struct narrow *x, struct wide *w, struct quad q)
{
	bool fits = q.n[0] < NARROW_NOT && (q.n[1] | q.n[2] | q.n[3]) <= UINT32_MAX;

	if (x->n[0] != NARROW_NOT && fits) {
		*x = (struct narrow){ { (uint32_t)q.n[0], (uint32_t)q.n[1], (uint32_t)q.n[2],
					(uint32_t)q.n[3] } };
		return;
	}
	if (x->n[0] != NARROW_NOT) {
		GROW(w->list, w->room, w->count + 1);
		*x = (struct narrow){ { NARROW_NOT, (uint32_t)w->count++ } };
	}
	w->list[x->n[1]] = q;
}
static inline void wide_release(struct wide *w)
{
	free(w->list);
	*w = (struct wide){ 0 };
}

#endif
