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
#define ROOT_BYTES (REGIONS * sizeof(region_leaf))
#define STUCK UINT8_MAX

region_leaf *_Atomic mt_live_few;
region_leaf *_Atomic mt_live_sparse;

static region_leaf *new_root(void)
{
	region_leaf *root = mt_prim_map(ROOT_BYTES, true);

	if (root)
		mt_arena_range((uintptr_t)root, ROOT_BYTES, PART_MAP);
	return root;
}

/* Without a second root the small leaves hold all. */
bool mt_live_few_begin(void)
{
	region_leaf *root = new_root();

	if (!root)
		return false;
	atomic_store(&mt_live_few, root);
	if (!atomic_load(&mt_live_sparse))
		atomic_store(&mt_live_sparse, new_root());
	return true;
}

static uintptr_t new_table(region_leaf *at, uintptr_t addr)
{
	uintptr_t seen = 0;
	void *table = mt_prim_map(TABLE_BYTES, true);

	if (!table)
		return 0;
	uintptr_t base = (uintptr_t)table - (addr >> REGION_SHIFT << (REGION_SHIFT - FEW_SHIFT));
	if (!atomic_compare_exchange_strong(at, &seen, base)) {
		mt_prim_unmap(table, TABLE_BYTES);
		return seen;
	}
	mt_arena_range((uintptr_t)table, TABLE_BYTES, PART_MAP);
	return base;
}

/* The byte of a page; NULL: counting is off. With `make` its table is made; without memory for it
 * counting ends. */
static _Atomic uint8_t *byte_of(uintptr_t addr, bool make)
{
	region_leaf *root = atomic_load_explicit(&mt_live_few, memory_order_acquire);

	if (likely(!root))
		return NULL;
	region_leaf *at = &root[addr >> REGION_SHIFT];
	uintptr_t table = atomic_load_explicit(at, memory_order_acquire);
	if (unlikely(!table && make && !(table = new_table(at, addr))))
		atomic_store(&mt_live_few, NULL);
	return table ? (_Atomic uint8_t *)(table + (addr >> FEW_SHIFT)) : NULL;
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
	change(byte_of(addr, true), 1, STUCK);
}

void mt_live_few_remove(uintptr_t addr)
{
	change(byte_of(addr, false), (uint8_t)-1, 0);
}

bool mt_live_few_end(void)
{
	atomic_store(&mt_live_few, NULL);
	return mt_prim_barrier();
}

/* The place of the block's KiB; NULL: there is none. */
static struct large *place_of(uintptr_t addr)
{
	return addr & 8 || address_beyond(addr) ? NULL : large_at(&mt_live_sparse, addr);
}

/* The size goes in while the place is claimed, with release: who reads it sees the claim, too, and
 * takes it for no older block's. */
bool mt_live_sparse_put(uintptr_t addr, const struct block *b, struct block *old)
{
	bool counting = atomic_load_explicit(&mt_live_few, memory_order_relaxed);
	struct large *l = unlikely(counting) ? place_of(addr) : NULL;

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
	struct large *l = place_of(addr);

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
