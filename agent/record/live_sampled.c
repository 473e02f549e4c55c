/* SPDX-License-Identifier: MIT
 *
 * live_sampled.c - counts how many recorded blocks start in each page. record/live_sampled.h has
 * the design.
 */
#include "record/live_sampled.h"
#include "base/arena.h"
#include "base/prim_linux.h"

#define TABLE_BYTES ((size_t)1 << (REGION_SHIFT - FEW_SHIFT))
#define ROOT_BYTES (sizeof(region_leaf) << (ADDRESS_BITS - REGION_SHIFT))
#define STUCK UINT8_MAX

region_leaf *_Atomic mt_live_few;

bool mt_live_few_begin(void)
{
	region_leaf *root = mt_prim_map(ROOT_BYTES, true);

	if (!root)
		return false;
	mt_arena_range((uintptr_t)root, ROOT_BYTES, PART_MAP);
	atomic_store(&mt_live_few, root);
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
