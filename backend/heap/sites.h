/* SPDX-License-Identifier: MIT
 *
 * sites.h - call sites: the stacks whose innermost frame that is no wrapper is of one function.
 * Of a call tree and its names; the amounts are those of a snapshot. Immutable once made.
 */
#ifndef HEAP_SITES_H
#define HEAP_SITES_H

#include "heap/heap.h"
#include "heap/names.h"

struct heap_sites {
	atomic_uint users;
	struct skeleton *skeleton; /* held, as the names are */
	struct heap_names *names;
	uint32_t count;
	uint32_t *of_stack; /* numbers, from 0 */
	uint32_t *function; /* by number */
};

/* What stacks hold together, in a snapshot of the same call tree. */
struct heap_site {
	struct amounts amounts;
	uint32_t stacks;   /* that ever allocated */
	uint32_t heaviest; /* one of them; of equal ones the one that the agent named first */
};

struct heap_sites *heap_sites_new(struct skeleton *s, struct heap_names *n);
/* Sets the bits of locations whose names nobody asked for, and that sites depend on. True: some. */
bool heap_sites_need(const struct skeleton *s, const struct heap_names *n, uint64_t *locations);
void heap_sites_drop(struct heap_sites *s);
/* By number, below count: number[stack], like heap_sites.of_stack. */
void heap_sum_by(const struct heap *h, const uint32_t *number, uint32_t count,
		 struct heap_site *sums);
/* The node of a stack's call site, and the frame there, as an index into names->frames. A stack of
 * nothing but wrappers is its own site. */
uint32_t heap_site_node(const struct skeleton *s, const struct heap_names *n, uint32_t stack,
			uint32_t *frame);
/* The same for any node, as if it were a stack. */
uint32_t heap_site_above(const struct skeleton *s, const struct heap_names *n, uint32_t node,
			 uint32_t *frame);

#endif
