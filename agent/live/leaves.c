/* SPDX-License-Identifier: MIT
 *
 * leaves.c - makes the leaves of the live map. live/live.c has the design.
 */
#include "live/leaves.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/stretch.h"
#include "live/live.h"
#include "live/sampled.h"

#define ORIGINS_AT offsetof(struct live_open, origin)
/* for the server, its viewers, leaves, and what the program may still ask for */
#define LEAST_ROOM ((size_t)32 << 20)

MT_HOT struct live_open *_Atomic mt_live_fast;
MT_HOT unsigned mt_live_granule_shift = 4;
struct live_open *_Atomic mt_live_open;
const region_leaf *_Atomic mt_live_closed;
MT_FORK_WORD _Atomic uint32_t mt_live_unguarded;
struct used *_Atomic mt_live_used;
_Atomic bool mt_live_unlisted;
static _Atomic bool xsuspected;
static struct stretch whole; /* mt_live_open: it grows with the numbers of origins */

/* The threads that were making leaves stayed with the parent; one of these leaves may not be in the
 * list. */
MT_FORK_CODE void mt_live_leaves_forked(void)
{
	if (atomic_exchange(&mt_live_unguarded, 0))
		atomic_store(&mt_live_unlisted, true);
}

/* Without leaves: the origin of no entry, which is 0, is all that is looked for there. */
static struct live_open *new_empty(void)
{
	size_t bytes = ORIGINS_AT + sizeof(uint64_t);
	struct live_open *open = mt_prim_map(bytes, true);

	if (!open)
		return NULL;
	mt_arena_range((uintptr_t)open, bytes, PART_MAP);
	mt_live_places_empty(open->place);
	return open;
}

bool mt_live_has_origin(uint32_t number)
{
	return mt_stretch_reach(&whole, ORIGINS_AT + (number + 1) * sizeof(uint64_t));
}

void mt_live_origins_drop(void)
{
	mt_stretch_drop(&whole, ORIGINS_AT);
}

bool mt_live_leaves_init(unsigned granule_bytes)
{
	struct live_open *open = mt_stretch_begin(&whole, ORIGINS_AT + 1, sizeof(*open), PART_MAP);

	mt_live_granule_shift = (unsigned)__builtin_ctz(granule_bytes);
	if (!open)
		return false;
	void *room = mt_prim_map(LEAST_ROOM, true);
	if (!room) /* the program's own requests would be refused next */
		return false;
	mt_prim_unmap(room, LEAST_ROOM);
	mt_live_places_empty(open->place);
	atomic_store(&mt_live_open, open);
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
static void remember(void *leaf, struct block_roots *s, enum leaf_kind kind, uintptr_t start)
{
	bool looked_at = kind == LEAF_EVEN || kind == LEAF_ODD;
	size_t bits = looked_at ? mt_live_leaf_bytes(kind) / mt_prim_page_bytes() : 0;
	struct used *u = mt_arena_alloc(sizeof(*u) + (bits + 63) / 64 * sizeof(uint64_t));

	if (!u) {
		if (leaf_is_small(kind))
			atomic_store(&mt_live_unlisted, true);
		return;
	}
	*u = (struct used){
		.leaf = leaf, .roots = s, .start = start, .kind = kind, .empty = (uint64_t *)(u + 1)
	};
	u->next = atomic_load_explicit(&mt_live_used, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&mt_live_used, &u->next, u,
						      memory_order_release, memory_order_relaxed))
		;
}

/*
 * Where no leaf is yet; an even one's region goes into its place. That is done before the leaf is
 * in the list: only then may the region be closed.
 */
static bool add_leaf(region_leaf *at, struct block_roots *s, uintptr_t start, enum leaf_kind kind)
{
	size_t bytes = mt_live_leaf_bytes(kind);
	uintptr_t none = 0;

	if (leaf_of(at))
		return true;
	void *leaf = mt_prim_map(bytes, true);
	if (!leaf)
		return false;
	if (!atomic_compare_exchange_strong(at, &none, (uintptr_t)leaf)) {
		mt_prim_unmap(leaf, bytes);
		return true;
	}
	if (kind == LEAF_EVEN)
		mt_live_place_take(atomic_load(&mt_live_open)->place, start, (uintptr_t)leaf);
	mt_arena_range((uintptr_t)leaf, bytes, PART_MAP);
	remember(leaf, s, kind, start);
	return true;
}

static bool make_leaf(uintptr_t addr, bool large)
{
	struct region *r = mt_live_region_make(addr);

	if (!r)
		return false;
	struct block_roots *s = addr & 8 ? &r->odd : &r->even;
	if (large)
		return add_leaf(&s->xlarge, s, r->start, LEAF_LARGE);
	bool is_odd = s == &r->odd;
	if (!is_odd && atomic_load(&mt_live_few)) /* without it the small leaf holds all */
		add_leaf(&r->xsparse, s, r->start, LEAF_SPARSE);
	return add_leaf(&s->xsmall, s, r->start, is_odd ? LEAF_ODD : LEAF_EVEN);
}

/* Others may enter blocks in the leaf before it is in the list: also in a child forked then. */
MT_COLD bool mt_live_make_leaf(uintptr_t addr, bool large)
{
	atomic_fetch_add(&mt_live_unguarded, 1);
	bool made = make_leaf(addr, large);
	atomic_fetch_sub(&mt_live_unguarded, 1);
	return made;
}

bool mt_live_make_twin(struct block_roots *s, uintptr_t start)
{
	atomic_fetch_add(&mt_live_unguarded, 1);
	bool made = add_leaf(&s->xtwin, s, start, LEAF_TWIN);
	atomic_fetch_sub(&mt_live_unguarded, 1);
	return made;
}

bool mt_live_make_wide(uintptr_t addr)
{
	struct region *r = region_of(addr);
	struct block_roots *s = addr & 8 ? &r->odd : &r->even;

	return add_leaf(&s->xwide, s, r->start, LEAF_WIDE);
}
