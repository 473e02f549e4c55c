/* SPDX-License-Identifier: MIT
 *
 * leaves.h - the roots and leaves of the live map, for the files of this folder. live/live.c has
 * the design.
 */
#ifndef MT_LIVE_LEAVES_H
#define MT_LIVE_LEAVES_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"
#include "live/meta.h"
#include "live/origins.h"

/* of a leaf of small or large blocks, with the smallest granules and pages */
#define LEAF_PAGES_MAX ((sizeof(small_entry) << (REGION_SHIFT - 3)) / 4096)

struct large {
	_Atomic uint64_t xmeta; /* with bits 3..9 of its address; 0 = none */
	_Atomic uint64_t xsize;
};

/* A small block without a number: its meta word, with its size. */
typedef _Atomic uint64_t wide_entry;

/* One map: for even addresses, there from the start, or for odd ones, made for the first such
 * block. */
struct shadow {
	region_leaf *_Atomic xsmall;
	region_leaf *_Atomic xlarge;
	/* small leaves for entries made while their region was closed: live/trim.c */
	region_leaf *_Atomic xtwin;
	region_leaf *_Atomic xwide; /* of wide entries */
};

/* LEAF_SPARSE: live/sampled.c's, of struct large as LEAF_LARGE is. */
enum leaf_kind { LEAF_EVEN, LEAF_ODD, LEAF_TWIN, LEAF_WIDE, LEAF_LARGE, LEAF_SPARSE };

/* Leaves in order of creation: a scan walks these instead of the roots. Immutable except `empty`.
 */
struct used {
	struct used *next;
	void *leaf;
	const struct shadow *shadow;
	size_t region; /* its index in the roots */
	enum leaf_kind kind;
	uint64_t *empty; /* live/trim.c's: a bit for each page of an even or odd leaf */
};

#pragma GCC visibility push(hidden)
extern struct shadow mt_live_even, mt_live_odd;
/* The closed region's word in its map's xsmall; NULL = none is. */
extern const region_leaf *_Atomic mt_live_closed;
/* number of threads that are making a leaf, or writing entries without a guard */
extern _Atomic uint32_t mt_live_unguarded;
extern struct used *_Atomic mt_live_used;
extern _Atomic bool mt_live_unlisted; /* there may be a small leaf that is not in mt_live_used */
extern uint64_t mt_live_given_back;   /* pages, since start; server thread */

bool mt_live_leaves_init(unsigned granule_bytes);
void mt_live_leaves_restart(void);
void mt_live_leaves_forked(void);
size_t mt_live_leaf_bytes(enum leaf_kind kind);
/* Has the block's address a leaf for its entry now? */
bool mt_live_make_leaf(uintptr_t addr, bool large);
bool mt_live_make_twin(struct shadow *s, size_t region);
bool mt_live_make_wide(uintptr_t addr);
#pragma GCC visibility pop

MT_INLINE bool leaf_is_small(enum leaf_kind kind)
{
	return kind <= LEAF_TWIN;
}

MT_INLINE bool leaf_is_large(enum leaf_kind kind)
{
	return kind >= LEAF_LARGE;
}

/* The map of an address; NULL: outside the known address space, or not yet there. */
MT_INLINE struct shadow *shadow_of(uintptr_t addr)
{
	struct shadow *s = likely(!(addr & 8)) ? &mt_live_even : &mt_live_odd;

	if (unlikely(!atomic_load_explicit(&s->xlarge, memory_order_acquire) ||
		     address_beyond(addr)))
		return NULL;
	return s;
}

MT_INLINE uintptr_t leaf_at(region_leaf *const _Atomic *root, uintptr_t addr)
{
	region_leaf *r = atomic_load_explicit(root, memory_order_acquire);

	return unlikely(!r) ? 0
			    : atomic_load_explicit(&r[addr >> REGION_SHIFT], memory_order_acquire);
}

/* These have NULL where there is no leaf. */
MT_INLINE small_entry *small_at(region_leaf *const _Atomic *root, uintptr_t addr)
{
	uintptr_t leaf = leaf_at(root, addr);

	return leaf ? (small_entry *)(leaf + (addr >> mt_live_granule_shift) * sizeof(small_entry))
		    : NULL;
}

MT_INLINE wide_entry *wide_at(const struct shadow *s, uintptr_t addr)
{
	uintptr_t leaf = leaf_at(&s->xwide, addr);

	return leaf ? (wide_entry *)(leaf + (addr >> mt_live_granule_shift) * sizeof(wide_entry))
		    : NULL;
}

MT_INLINE struct large *large_at(region_leaf *const _Atomic *root, uintptr_t addr)
{
	uintptr_t leaf = leaf_at(root, addr);

	return leaf ? (struct large *)(leaf + (addr >> LARGE_SHIFT) * sizeof(struct large)) : NULL;
}

/* The spare bits of a large block's word are its address bits 3..9. */
MT_INLINE uint64_t pack_large(uintptr_t addr, const struct block *b)
{
	return pack_meta(b, (addr & (LARGE_MIN - 1)) >> 3);
}

/* Is it the entry of the block that starts there? */
MT_INLINE bool large_is_at(uint64_t meta, uintptr_t addr)
{
	return meta && (meta & 0x7f) == (addr & (LARGE_MIN - 1)) >> 3;
}

/* The block of a small entry; its slot is 0 if nobody knows it (live/origins.h). */
MT_INLINE struct block small_block(const struct shadow *s, uintptr_t addr, uint32_t entry)
{
	const struct live_open *open = atomic_load_explicit(&mt_live_open, memory_order_relaxed);
	wide_entry *w;

	if (likely(entry >> LARGE_SHIFT != ORIGIN_WIDE))
		return origin_block(live_origin(open, entry), live_size(entry));
	w = wide_at(s, addr);
	uint64_t meta = w ? atomic_load_explicit(w, memory_order_relaxed) : 0;
	return unpack_meta(meta, meta_spare(meta));
}

#endif
