/* SPDX-License-Identifier: MIT
 *
 * rate.h - allocation rates per second, by slot. Main thread only.
 */
#ifndef MODEL_PATHS_RATE_H
#define MODEL_PATHS_RATE_H

#include "model/paths/parts.h"
#include "model/paths/trie.h"

#define RATE_TICKS 64u

/* What one tick added to the rates; taken back when it is older than a second. */
#define RATE_ENTRIES 1000u
struct rate_block {
	struct rate_block *next;
	uint32_t count;
	struct rate_entry {
		uint64_t bytes;
		uint32_t blocks, slot;
	} entries[RATE_ENTRIES];
};
struct rate_batch {
	uint64_t expire_ns;
	struct rate_block *blocks; /* owned */
	size_t count;              /* entries in all of them */
};

struct rate_book {
	struct rate_batch batches[RATE_TICKS];
	size_t first, count;
	struct rate **pages; /* by dense index of slots; only pages with a rate exist */
	size_t room;
};

/* starts the batch of a tick with so many staged slots; false: it counts for no rate */
bool rates_begin(uint64_t before_ns, uint64_t now_ns, size_t staged, struct rate_batch *b,
		 double *weight);
/* Enters a slot (dense) in this batch; false: impossibly large. */
bool rates_enter(struct rate_batch *b, uint32_t slot, double bytes, double blocks,
		 struct rate *rate);
/* batches older than a second, and entries in them */
size_t rates_due(const struct rate_book *r, uint64_t now, size_t *entries);
const struct rate_batch *rates_batch(const struct rate_book *r, size_t i); /* the oldest is 0 */
/* adds the newest batch and takes its entries; the ring must not be full */
void rates_push(struct rate_book *r, struct rate_batch *b);
void rates_forget(struct rate_batch *b);
void rates_drop(struct rate_book *r); /* the oldest batch */
struct rate *rate_at(struct rate_book *r, uint32_t slot);
struct rate rate_read(const struct rate_book *r, uint32_t slot);
size_t rates_entries(const struct rate_book *r); /* of all batches */
size_t rates_room(const struct rate_book *r);    /* slots in pages that exist, at most */
/* the first slot from this one on that has a rate; SIZE_MAX = none */
size_t rates_next(const struct rate_book *r, size_t slot);
void rates_rest(struct rate_book *r); /* without batches: clears the rates and frees their memory */
/* Recomputes all rates from the remaining batches: true, x is at its end. Nothing may change on the
 * way. */
bool rates_sum_all(struct rate_book *r, const struct trie *t, struct parts *x, uint64_t end_ns);
/* adds the batches' rates of slots to slots[] */
void rates_add_up(const struct rate_book *r, struct rate *slots);
void rates_clear(struct rate_book *r);

#endif
