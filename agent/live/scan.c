/* SPDX-License-Identifier: MIT
 *
 * scan.c - reads the whole live map, while threads change it: each block as it is when the scan
 * comes to it.
 */
#include "live/scan.h"
#include "base/prim_linux.h"
#include "live/leaves.h"
#include "live/sampled.h"

typedef void (*block_visit)(void *arg, uintptr_t addr, const struct block *b);

uint32_t mt_live_walked;

struct scan {
	block_visit visit;
	void *arg;
};

/* `addr`: of the first granule. */
static void scan_large(struct large *from, size_t n, uintptr_t addr, const struct scan *s)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t meta = atomic_load_explicit(&from[i].xmeta, memory_order_acquire);
		if (!meta || meta == SPARSE_CLAIMED)
			continue;
		uint64_t size = atomic_load_explicit(&from[i].xsize, memory_order_acquire);
		if (atomic_load_explicit(&from[i].xmeta, memory_order_relaxed) != meta)
			continue; /* freed meanwhile */
		struct block b = unpack_meta(meta, size);
		s->visit(s->arg, addr + (i << LARGE_SHIFT) + ((meta & 0x7f) << 3), &b);
	}
}

static void scan_small(small_entry *from, size_t n, uintptr_t addr, const struct block_roots *map,
		       const struct scan *s)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = atomic_load_explicit(&from[i], memory_order_acquire);
		if (!v)
			continue;
		uintptr_t at = addr + (i << mt_live_granule_shift);
		struct block b = small_block(map, at, v);
		if (likely(b.slot))
			s->visit(s->arg, at, &b);
	}
}

static void scan_page(const struct scan *s, const struct used *u, size_t page)
{
	size_t bytes = mt_prim_page_bytes();
	char *at = (char *)u->leaf + page * bytes;
	uintptr_t addr = u->start;
	size_t larges = bytes / sizeof(struct large), smalls = bytes / sizeof(small_entry);

	if (leaf_is_large(u->kind))
		scan_large((struct large *)at, larges, addr + (page * larges << LARGE_SHIFT), s);
	else if (leaf_is_small(u->kind))
		scan_small((small_entry *)at, smalls,
			   addr + (page * smalls << mt_live_granule_shift), u->roots, s);
}

/* Only pages that were written to: reading the others would give the program's process pages,
 * too. */
static void scan_leaf(const struct scan *s, const struct used *u)
{
	static unsigned char touched[LEAF_PAGES_MAX];
	size_t pages = mt_live_leaf_bytes(u->kind) / mt_prim_page_bytes();
	bool known = mt_prim_touched((uintptr_t)u->leaf, pages, touched);

	for (size_t i = 0; i < pages; i++)
		if (!known || touched[i])
			scan_page(s, u, i);
}

void mt_live_scan(block_visit visit, void *arg)
{
	const struct used *first = atomic_load_explicit(&mt_live_used, memory_order_acquire);
	struct scan s = { visit, arg };
	uint32_t all = 0, done = 0;

	for (const struct used *u = first; u; u = u->next)
		all++;
	for (const struct used *u = first; u; u = u->next) {
		mt_live_walked = 1 + (uint32_t)((uint64_t)100 * done++ / all);
		if (u->kind != LEAF_WIDE) /* the small leaf names its entries */
			scan_leaf(&s, u);
	}
	mt_live_walked = 0;
}
