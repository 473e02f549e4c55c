/* SPDX-License-Identifier: MIT
 *
 * internal.h - the roots and leaves of the live map, for the files that use them: record/live.c,
 * which has the design, record/live_sampled.c, and record/live_trim.c, which gives memory back.
 */
#ifndef MT_RECORD_INTERNAL_H
#define MT_RECORD_INTERNAL_H

#include "base/compiler.h"
#include "base/types.h"
#include "record/live_fast.h"

/* of the smallest there are */
#define LEAF_PAGES_MAX ((sizeof(uint64_t) << (REGION_SHIFT - 3)) / 4096)

/* One map: for even addresses, there from the start, or for odd ones, made for the first such
 * block. */
struct shadow {
	region_leaf *_Atomic xsmall;
	region_leaf *_Atomic xlarge;
	/* small leaves for entries made while their region was closed: record/live_trim.c */
	region_leaf *_Atomic xtwin;
};

/* LEAF_SPARSE: record/live_sampled.c's, of struct large as LEAF_LARGE is. */
enum leaf_kind { LEAF_EVEN, LEAF_ODD, LEAF_LARGE, LEAF_TWIN, LEAF_SPARSE };

/* Leaves in order of creation: a scan walks these instead of the roots. Immutable except `empty`.
 */
struct used {
	struct used *next;
	void *leaf;
	size_t region; /* its index in the roots */
	enum leaf_kind kind;
	uint64_t *empty; /* record/live_trim.c's: a bit for each page of an even or odd leaf */
};

#pragma GCC visibility push(hidden)
extern struct shadow mt_live_even, mt_live_odd;
/* The even map's small leaves without the closed one: live_small() reads these. */
extern region_leaf *_Atomic mt_live_open;
/* The closed region's word in its map's xsmall; NULL = none is. */
extern const region_leaf *_Atomic mt_live_closed;
/* number of unguarded threads that are writing entries */
extern _Atomic uint32_t mt_live_unguarded;
extern struct used *_Atomic mt_live_used;
extern uint64_t mt_live_given_back; /* pages, since start; server thread */

size_t mt_live_small_bytes(void);                        /* of a small leaf */
bool mt_live_make_twin(struct shadow *s, size_t region); /* has it one now? */
#pragma GCC visibility pop

MT_INLINE uint64_t pack_large(uintptr_t addr, slot_id slot, uint32_t tick, uint32_t thread)
{
	return (uint64_t)slot << 40 | (uint64_t)tick << 24 | (uint64_t)thread << 10 |
	       (addr & (LARGE_MIN - 1)) >> 3;
}

MT_INLINE struct block unpack_large(uint64_t meta, uint64_t size)
{
	struct block b = { size, meta >> 40, meta >> 24 & 0xffff, meta >> 10 & 0x3fff };

	return b;
}

/* Is it the entry of the block that starts there? */
MT_INLINE bool large_is_at(uint64_t meta, uintptr_t addr)
{
	return meta && (meta & 0x7f) == (addr & (LARGE_MIN - 1)) >> 3;
}

#endif
