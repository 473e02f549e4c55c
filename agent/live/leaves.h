/* SPDX-License-Identifier: MIT
 *
 * leaves.h - the leaves of the live map, for the files of this folder. live/live.c has
 * the design.
 */
#ifndef MT_LIVE_LEAVES_H
#define MT_LIVE_LEAVES_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"
#include "live/meta.h"
#include "live/origins.h"
#include "live/regions.h"

/* of a leaf of small or large blocks, with the smallest granules and pages */
#define LEAF_PAGES_MAX ((sizeof(small_entry) << (REGION_SHIFT - 3)) / 4096)

struct large {
	_Atomic uint64_t xmeta; /* with bits 3..9 of its address; 0 = none */
	_Atomic uint64_t xsize;
};

/* A small block without a number: its meta word, with its size. */
typedef _Atomic uint64_t wide_entry;

/* LEAF_SPARSE: live/sampled.c's, of struct large as LEAF_LARGE is. */
enum leaf_kind { LEAF_EVEN, LEAF_ODD, LEAF_TWIN, LEAF_WIDE, LEAF_LARGE, LEAF_SPARSE };

/* Leaves in order of creation: what a scan walks. Immutable except `empty`. */
struct used {
	struct used *next;
	void *leaf;
	struct block_roots *roots;
	uintptr_t start; /* of its region */
	enum leaf_kind kind;
	uint64_t *empty; /* live/trim.c's: a bit for each page of an even or odd leaf */
};

#pragma GCC visibility push(hidden)
/* The closed region's xsmall; NULL = none is. */
extern const region_leaf *_Atomic mt_live_closed;
/* number of threads that are making a leaf, or writing entries without a guard */
extern _Atomic uint32_t mt_live_unguarded;
extern struct used *_Atomic mt_live_used;
extern _Atomic bool mt_live_unlisted; /* there may be a small leaf that is not in mt_live_used */
extern uint64_t mt_live_given_back;   /* pages, since start; server thread */

bool mt_live_leaves_init(unsigned granule_bytes);
void mt_live_leaves_restart(void);
void mt_live_leaves_forked(void);
bool mt_live_has_origin(uint32_t number); /* can its word be written? False: no memory */
void mt_live_origins_drop(void);          /* no thread counts */
size_t mt_live_leaf_bytes(enum leaf_kind kind);
/* Has the block's address a leaf for its entry now? */
bool mt_live_make_leaf(uintptr_t addr, bool large);
bool mt_live_make_twin(struct block_roots *s,
		       uintptr_t start); /* of the region that starts there */
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

/* NULL: nothing is known of its region. */
MT_INLINE struct block_roots *block_roots_of(uintptr_t addr)
{
	struct region *r = region_of(addr);

	return unlikely(!r) ? NULL : likely(!(addr & 8)) ? &r->even : &r->odd;
}

MT_INLINE uintptr_t offset_of(uintptr_t addr)
{
	return addr & (REGION_BYTES - 1);
}

MT_INLINE uintptr_t leaf_of(const region_leaf *leaf)
{
	return atomic_load_explicit(leaf, memory_order_acquire);
}

/* These have NULL where there is no leaf. */
MT_INLINE small_entry *small_at(const region_leaf *at, uintptr_t addr)
{
	uintptr_t leaf = leaf_of(at);

	return leaf ? (small_entry *)leaf + (offset_of(addr) >> mt_live_granule_shift) : NULL;
}

MT_INLINE wide_entry *wide_at(const struct block_roots *s, uintptr_t addr)
{
	uintptr_t leaf = leaf_of(&s->xwide);

	return leaf ? (wide_entry *)leaf + (offset_of(addr) >> mt_live_granule_shift) : NULL;
}

MT_INLINE struct large *large_at(const region_leaf *at, uintptr_t addr)
{
	uintptr_t leaf = leaf_of(at);

	return leaf ? (struct large *)leaf + (offset_of(addr) >> LARGE_SHIFT) : NULL;
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
MT_INLINE struct block small_block(const struct block_roots *s, uintptr_t addr, uint32_t entry)
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
