/* SPDX-License-Identifier: MIT
 *
 * internal.h - the roots and leaves of the live map, for the two files that use them:
 * record/live.c, which has the design, and record/live_trim.c, which gives memory back.
 */
#ifndef MT_RECORD_INTERNAL_H
#define MT_RECORD_INTERNAL_H

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

enum leaf_kind { LEAF_EVEN, LEAF_ODD, LEAF_LARGE, LEAF_TWIN };

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

#endif
