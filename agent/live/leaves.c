/* SPDX-License-Identifier: MIT
 *
 * leaves.c - makes the roots and leaves of the live map. live/live.c has the design.
 */
#include "live/leaves.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "live/live.h"
#include "live/sampled.h"

#define ROOT_BYTES (REGIONS * sizeof(region_leaf))

MT_HOT struct live_open *_Atomic mt_live_fast;
MT_HOT unsigned mt_live_granule_shift = 4;
struct live_open *_Atomic mt_live_open;
const region_leaf *_Atomic mt_live_closed;
_Atomic uint32_t mt_live_unguarded;
struct shadow mt_live_even, mt_live_odd;
struct used *_Atomic mt_live_used;
_Atomic bool mt_live_unlisted;
static _Atomic bool xsuspected;

/* The threads that were making leaves stayed with the parent; one of these leaves may not be in the
 * list. */
void mt_live_leaves_forked(void)
{
	if (atomic_exchange(&mt_live_unguarded, 0))
		atomic_store(&mt_live_unlisted, true);
}

static void *reserve(size_t bytes)
{
	void *p = mt_prim_map(bytes, true);

	if (p)
		mt_arena_range((uintptr_t)p, bytes, PART_MAP);
	return p;
}

static region_leaf *new_root(region_leaf *_Atomic *at)
{
	region_leaf *root = mt_prim_map(ROOT_BYTES, true), *seen = NULL;

	if (!root)
		return NULL;
	if (!atomic_compare_exchange_strong(at, &seen, root)) {
		mt_prim_unmap(root, ROOT_BYTES);
		return seen;
	}
	mt_arena_range((uintptr_t)root, ROOT_BYTES, PART_MAP);
	return root;
}

/* Without leaves: the origin of no entry, which is 0, is all that is looked for there. */
static struct live_open *new_empty(void)
{
	return reserve(offsetof(struct live_open, origin[1]));
}

bool mt_live_leaves_init(unsigned granule_bytes)
{
	struct live_open *open = reserve(sizeof(*open));

	mt_live_granule_shift = (unsigned)__builtin_ctz(granule_bytes);
	atomic_store(&mt_live_open, open);
	if (!open || !new_root(&mt_live_even.xsmall) || !new_root(&mt_live_even.xlarge))
		return false;
	if (mt_conf.sample && mt_live_few_begin())
		open = new_empty();
	atomic_store(&mt_live_fast, open);
	return open;
}

/* The leaves stay: a late free may still look at an entry, and write the 0 that is there. */
void mt_live_leaves_restart(void)
{
	for (struct used *u = atomic_load_explicit(&mt_live_used, memory_order_acquire); u;
	     u = u->next)
		mt_prim_drop(u->leaf, mt_live_leaf_bytes(u->kind));
}

MT_COLD void mt_live_suspect(void)
{
	struct live_open *empty;

	if (!atomic_exchange(&xsuspected, true) && (empty = new_empty()))
		atomic_store(&mt_live_fast, empty);
}

/* mt_live_suspect() may come between: its root stays. */
void mt_live_dense(void)
{
	struct live_open *sparse = atomic_load(&mt_live_fast);

	if (atomic_load(&mt_live_few) && mt_live_few_end() && !atomic_load(&xsuspected))
		atomic_compare_exchange_strong(&mt_live_fast, &sparse, atomic_load(&mt_live_open));
}

/* Of one entry: 1 << n bytes of heap. */
static unsigned granule_shift(enum leaf_kind kind)
{
	return leaf_is_large(kind) ? LARGE_SHIFT : mt_live_granule_shift;
}

static size_t entry_bytes(enum leaf_kind kind)
{
	return leaf_is_large(kind) ? sizeof(struct large)
	       : kind == LEAF_WIDE ? sizeof(wide_entry)
				   : sizeof(small_entry);
}

size_t mt_live_leaf_bytes(enum leaf_kind kind)
{
	return entry_bytes(kind) << (REGION_SHIFT - granule_shift(kind));
}

/* Without memory for this, a scan misses the leaf: ages degrade, counters do not. */
static void remember(void *leaf, const struct shadow *s, enum leaf_kind kind, size_t region)
{
	bool looked_at = kind == LEAF_EVEN || kind == LEAF_ODD;
	size_t bits = looked_at ? mt_live_leaf_bytes(kind) / mt_prim_page_bytes() : 0;
	struct used *u = mt_arena_alloc(sizeof(*u) + (bits + 63) / 64 * sizeof(uint64_t));

	if (!u) {
		if (leaf_is_small(kind))
			atomic_store(&mt_live_unlisted, true);
		return;
	}
	*u = (struct used){ .leaf = leaf,
			    .shadow = s,
			    .region = region,
			    .kind = kind,
			    .empty = (uint64_t *)(u + 1) };
	u->next = atomic_load_explicit(&mt_live_used, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&mt_live_used, &u->next, u,
						      memory_order_release, memory_order_relaxed))
		;
}

/* Both roots or none: the small one is made first, and the large one tells. */
static bool make_odd(void)
{
	return atomic_load(&mt_live_odd.xlarge) ||
	       (new_root(&mt_live_odd.xsmall) && new_root(&mt_live_odd.xlarge));
}

/*
 * Into an empty place of a root; `open` is the same place of mt_live_open, or NULL. It is filled
 * before the leaf is in the list: only then may the region be closed.
 */
static bool add_leaf(region_leaf *root, region_leaf *open, const struct shadow *s, size_t region,
		     enum leaf_kind kind)
{
	size_t bytes = mt_live_leaf_bytes(kind);
	uintptr_t none = 0;

	if (atomic_load_explicit(&root[region], memory_order_acquire))
		return true;
	void *leaf = mt_prim_map(bytes, true);
	if (!leaf)
		return false;
	/* as the roots have it: where the entry of address 0 would be */
	uintptr_t first = (region << REGION_SHIFT >> granule_shift(kind)) * entry_bytes(kind),
		  base = (uintptr_t)leaf - first;
	if (!base || !atomic_compare_exchange_strong(&root[region], &none, base)) {
		mt_prim_unmap(leaf, bytes);
		return none;
	}
	if (open)
		atomic_store_explicit(open, base, memory_order_release);
	mt_arena_range((uintptr_t)leaf, bytes, PART_MAP);
	remember(leaf, s, kind, region);
	return true;
}

static bool make_leaf(uintptr_t addr, bool large)
{
	size_t region = addr >> REGION_SHIFT;

	if (address_beyond(addr) || ((addr & 8) && !make_odd()))
		return false;
	const struct shadow *s = shadow_of(addr);
	if (large)
		return add_leaf(s->xlarge, NULL, s, region, LEAF_LARGE);
	bool is_odd = s == &mt_live_odd;
	region_leaf *sparse = atomic_load(&mt_live_few) ? atomic_load(&mt_live_sparse) : NULL;
	if (sparse && !is_odd) /* without it the small leaf holds all */
		add_leaf(sparse, NULL, s, region, LEAF_SPARSE);
	return add_leaf(s->xsmall, is_odd ? NULL : &atomic_load(&mt_live_open)->leaf[region], s,
			region, is_odd ? LEAF_ODD : LEAF_EVEN);
}

/* Others may enter blocks in the leaf before it is in the list: also in a child forked then. */
MT_COLD bool mt_live_make_leaf(uintptr_t addr, bool large)
{
	atomic_fetch_add(&mt_live_unguarded, 1);
	bool made = make_leaf(addr, large);
	atomic_fetch_sub(&mt_live_unguarded, 1);
	return made;
}

/* A leaf of a root that most programs never need. */
static bool make_seldom(region_leaf *_Atomic *root, const struct shadow *s, size_t region,
			enum leaf_kind kind)
{
	if (!atomic_load(root) && !new_root(root))
		return false;
	return add_leaf(*root, NULL, s, region, kind);
}

bool mt_live_make_twin(struct shadow *s, size_t region)
{
	atomic_fetch_add(&mt_live_unguarded, 1);
	bool made = make_seldom(&s->xtwin, s, region, LEAF_TWIN);
	atomic_fetch_sub(&mt_live_unguarded, 1);
	return made;
}

bool mt_live_make_wide(uintptr_t addr)
{
	struct shadow *s = shadow_of(addr);

	return make_seldom(&s->xwide, s, addr >> REGION_SHIFT, LEAF_WIDE);
}
