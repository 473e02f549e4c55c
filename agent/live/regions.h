/* SPDX-License-Identifier: MIT
 *
 * regions.h - the regions of the address space that have leaves, and what each has.
 *
 * There is a chain of regions for some bits of the address: neighbours are in different chains.
 * Regions are never removed.
 */
#ifndef MT_LIVE_REGIONS_H
#define MT_LIVE_REGIONS_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"

/* 16 GiB of neighbours have a chain each */
#define CHAINS ((size_t)1 << (sizeof(void *) == 8 ? 12 : 32 - REGION_SHIFT))

/* The leaves of a region's blocks at even addresses, or at odd ones. */
struct block_roots {
	region_leaf xsmall;
	region_leaf xlarge;
	/* for entries made while the region was closed: live/trim.c */
	region_leaf xtwin;
	region_leaf xwide; /* of wide entries */
};

struct region {
	struct region *next; /* of its chain; immutable */
	uintptr_t start;     /* its first address; immutable */
	struct block_roots even, odd;
	/* live/sampled.c's, made by the first block of a sampled program */
	region_leaf xsparse;
	_Atomic uintptr_t xfew; /* the address of its table; 0 = none */
};

#pragma GCC visibility push(hidden)
extern struct region *_Atomic mt_live_regions[CHAINS];

struct region *mt_live_region_make(uintptr_t addr); /* or the one that is there; NULL: no memory */
void mt_live_places_empty(struct place *places);    /* new memory is not: the first has a tag */
/* Puts a region into its place, or again. False: another one has it. */
bool mt_live_place_take(struct place *places, uintptr_t start, uintptr_t leaf);
void mt_live_place_leave(struct place *places, uintptr_t start);
#pragma GCC visibility pop

MT_INLINE struct region *region_of(uintptr_t addr)
{
	struct region *r = atomic_load_explicit(
		&mt_live_regions[addr >> REGION_SHIFT & (CHAINS - 1)], memory_order_acquire);

	while (r && unlikely((addr ^ r->start) >> REGION_SHIFT))
		r = r->next;
	return r;
}

#endif
