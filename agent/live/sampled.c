/* SPDX-License-Identifier: MIT
 *
 * sampled.c - counts how many recorded blocks start in each page, and holds them.
 * live/sampled.h has the design.
 */
#include "live/sampled.h"
#include "base/arena.h"
#include "base/prim_linux.h"
#include "live/leaves.h"

#define TABLE_BYTES ((size_t)1 << (REGION_SHIFT - FEW_SHIFT))
#define PLACES_BYTES (REGION_PLACES * sizeof(struct place))
#define STUCK UINT8_MAX

struct place *_Atomic mt_live_few;
_Atomic bool mt_live_sparse;

bool mt_live_few_begin(void)
{
	struct place *places = mt_prim_map(PLACES_BYTES, true);

	if (!places)
		return false;
	mt_arena_range((uintptr_t)places, PLACES_BYTES, PART_MAP);
	mt_live_places_empty(places);
	atomic_store(&mt_live_few, places);
	atomic_store(&mt_live_sparse, true);
	return true;
}

/* 0: no memory. */
static uintptr_t table_of(struct region *r)
{
	uintptr_t table = atomic_load_explicit(&r->xfew, memory_order_acquire), fresh;

	if (likely(table))
		return table;
	fresh = (uintptr_t)mt_arena_alloc_for(NEED_ALWAYS, TABLE_BYTES);
	if (!fresh)
		return 0;
	return atomic_compare_exchange_strong(&r->xfew, &table, fresh) ? fresh : table;
}

/* The byte of a page; NULL: counting is off, or not of this region. */
static _Atomic uint8_t *byte_of(uintptr_t addr)
{
	struct place *places = atomic_load_explicit(&mt_live_few, memory_order_acquire);
	const struct place *at = likely(!places) ? NULL : place_of(places, addr);

	if (!at || offset_outside(place_offset(at, addr)))
		return NULL;
	uintptr_t table = atomic_load_explicit(&at->xleaf, memory_order_relaxed);
	return (_Atomic uint8_t *)table + (place_offset(at, addr) >> FEW_SHIFT);
}

/* Without memory for its table counting ends. */
static MT_COLD _Atomic uint8_t *make_byte(uintptr_t addr)
{
	struct place *places = atomic_load_explicit(&mt_live_few, memory_order_acquire);
	struct region *r = places ? region_of(addr) : NULL;
	uintptr_t table = r ? table_of(r) : 0;

	if (places && !table)
		atomic_store(&mt_live_few, NULL);
	return table && mt_live_place_take(places, r->start, table) ? byte_of(addr) : NULL;
}

/* By one, but neither from nor past what it may not leave. */
static void change(_Atomic uint8_t *byte, uint8_t by, uint8_t never)
{
	uint8_t n = byte ? atomic_load_explicit(byte, memory_order_relaxed) : STUCK;

	while (n != STUCK && n != never &&
	       !atomic_compare_exchange_weak(byte, &n, (uint8_t)(n + by)))
		;
}

void mt_live_few_add(uintptr_t addr)
{
	_Atomic uint8_t *byte = byte_of(addr);

	change(byte ? byte : make_byte(addr), 1, STUCK);
}

void mt_live_few_remove(uintptr_t addr)
{
	change(byte_of(addr), (uint8_t)-1, 0);
}

bool mt_live_few_end(void)
{
	atomic_store(&mt_live_few, NULL);
	return mt_prim_barrier();
}

/* The place of the block's KiB; NULL: there is none. */
static struct large *sparse_at(uintptr_t addr)
{
	struct region *r = addr & 8 ? NULL : region_of(addr);

	return r ? large_at(&r->xsparse, addr) : NULL;
}

/* The size goes in while the place is claimed, with release: who reads it sees the claim, too, and
 * takes it for no older block's. */
bool mt_live_sparse_put(uintptr_t addr, const struct block *b, struct block *old)
{
	bool counting = atomic_load_explicit(&mt_live_few, memory_order_relaxed);
	struct large *l = unlikely(counting) ? sparse_at(addr) : NULL;

	if (likely(!l))
		return false;
	uint64_t is = atomic_load_explicit(&l->xmeta, memory_order_acquire);
	if (is && !large_is_at(is, addr))
		return false;
	*old = unpack_meta(is, atomic_load_explicit(&l->xsize, memory_order_relaxed));
	if (!atomic_compare_exchange_strong(&l->xmeta, &is, SPARSE_CLAIMED))
		return false;
	atomic_store_explicit(&l->xsize, b->size, memory_order_release);
	atomic_store_explicit(&l->xmeta, pack_large(addr, b), memory_order_release);
	return true;
}

/* The place of the block at addr, if that has it, and both its word and the block; else NULL. */
static struct large *find(uintptr_t addr, uint64_t *meta, struct block *b)
{
	struct large *l = sparse_at(addr);

	*meta = l ? atomic_load_explicit(&l->xmeta, memory_order_acquire) : 0;
	if (!large_is_at(*meta, addr))
		return NULL;
	*b = unpack_meta(*meta, atomic_load_explicit(&l->xsize, memory_order_relaxed));
	return l;
}

bool mt_live_sparse_peek_any(uintptr_t addr, struct block *b)
{
	uint64_t meta;

	return find(addr, &meta, b);
}

/* Who finds a block that was freed unseen may do so at the same time as another: one takes it. */
bool mt_live_sparse_take_any(uintptr_t addr, struct block *b)
{
	uint64_t meta;
	struct large *l = find(addr, &meta, b);

	return l && atomic_compare_exchange_strong(&l->xmeta, &meta, 0);
}
