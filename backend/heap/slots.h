/* SPDX-License-Identifier: MIT
 *
 * slots.h - which slots there are, and whose. Immutable once made; any thread.
 *
 * A slot is a counter set of one stack in one epoch. Others name it by the wire's id: the cells of
 * marks and samples, scans, the heap's peak. Arrays beside it are by its order of arrival, from 0,
 * which never changes.
 */
#ifndef HEAP_SLOTS_H
#define HEAP_SLOTS_H

#include "heap/skeleton.h"

struct slots {
	atomic_uint users;
	uint32_t count;
	struct idmap ids; /* order of arrival by the wire's id */
	uint32_t *stack;  /* by arrival: in the skeleton of the same snapshot */
	uint32_t *epoch;  /* by arrival */
};

/* Its arrays are not filled, and its ids are empty. The caller holds it. */
struct slots *slots_new(uint32_t count);
struct slots *slots_hold(struct slots *s);
void slots_drop(struct slots *s); /* frees it after the last one; NULL: nothing */

/* Order of arrival of a wire's id; NO_ID: none, or it came since. */
static inline uint32_t slots_find(const struct slots *s, uint32_t id)
{
	uint32_t arrival = idmap_get(&s->ids, id);

	return arrival < s->count ? arrival : NO_ID;
}
/* Its stack, likewise. */
static inline uint32_t slots_stack(const struct slots *s, uint32_t id)
{
	uint32_t arrival = slots_find(s, id);

	return arrival == NO_ID ? NO_ID : s->stack[arrival];
}
/* By order of arrival, the wire's ids; free() it. */
uint32_t *slots_ids(const struct slots *s);

#endif
