/* SPDX-License-Identifier: MIT */
#include "live/regions.h"
#include "base/arena.h"

struct region *_Atomic mt_live_regions[CHAINS];

struct region *mt_live_region_make(uintptr_t addr)
{
	struct region *_Atomic *chain = &mt_live_regions[addr >> REGION_SHIFT & (CHAINS - 1)];
	struct region *r = region_of(addr), *fresh = NULL;

	while (!r) {
		struct region *head = atomic_load_explicit(chain, memory_order_acquire);
		r = region_of(addr); /* another thread may have made it since */
		if (r || (!fresh && !(fresh = mt_arena_alloc_for(NEED_ALWAYS, sizeof(*fresh)))))
			break;
		fresh->next = head;
		fresh->start = addr & ~(REGION_BYTES - 1);
		if (atomic_compare_exchange_strong(chain, &head, fresh))
			r = fresh;
	}
	return r;
}

void mt_live_places_empty(struct place *places)
{
	atomic_store(&places[0].xtag, place_empty_tag(0));
}

/* Several threads may do so for the same region at once. */
bool mt_live_place_take(struct place *places, uintptr_t start, uintptr_t leaf)
{
	struct place *at = place_of(places, start);
	uintptr_t is = 0;

	if (!atomic_compare_exchange_strong(&at->xleaf, &is, leaf) && is != leaf)
		return false;
	atomic_store(&at->xtag, start);
	return true;
}

void mt_live_place_leave(struct place *places, uintptr_t start)
{
	uintptr_t is = start;

	atomic_compare_exchange_strong(&place_of(places, start)->xtag, &is, place_empty_tag(start));
}
