/* SPDX-License-Identifier: MIT
 *
 * sums.h - counters -> central sums with a change number; threads, modules. Server thread.
 */
#ifndef MT_COLLECT_SUMS_H
#define MT_COLLECT_SUMS_H

#include "base/types.h"
#include "record/thread.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;

#define SUM_CHUNK 4096u /* slots in a chunk of sums */
#define SUM_GROUP 64u   /* slots that share a change number */
#define SUM_CHUNKS (MTW_SLOTS_MAX / SUM_CHUNK)
#define GROUPS (MTW_SLOTS_MAX / SUM_GROUP)
#define NO_OWNER UINT32_MAX

/* Central sum of one slot, as viewers get it. */
struct sum {
	struct tally now;
	uint32_t changed; /* pass, 0 = never seen */
	uint32_t owner;   /* module id, NO_OWNER = none but wrappers */
};

/* The same, in little more than half the room, while all its counters are below 2^32. */
struct narrow_sum {
	uint32_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
	uint32_t changed, owner;
};

struct sum_chunk {
	uint32_t changed; /* newest of its groups */
	uint32_t group[SUM_CHUNK / SUM_GROUP];
	/* SUM_CHUNK of these, or of those once one of them needs it; the other is NULL */
	struct narrow_sum *narrow;
	struct sum *wide;
};

struct thread_row {
	struct thread_info info;
	uint32_t changed;
	bool gone; /* the kernel no longer has this thread */
	bool over; /* ended, and its last figures are collected */
};

struct sums {
	uint32_t pass;
	uint64_t pass_ns;    /* when it was taken, since start */
	struct tally totals; /* = sum over slots, always */
	uint64_t peak_bytes, peak_error, peak_ns;
	uint64_t seen_peak, seen_peak_ns; /* largest live of all passes */
	uint32_t peak_number;             /* record/peak.h's when the pass began */
	uint32_t slot_limit;              /* ids below it may have been seen */
	uint64_t slots_seen;
	struct sum_chunk **chunk;           /* [SUM_CHUNKS] */
	int64_t *module_live;               /* [MTW_MODULES_MAX] by owner */
	uint32_t *module_changed;           /* [MTW_MODULES_MAX] pass */
	uint32_t *module_seen;              /* [MTW_MODULES_MAX] what of it may change, folded */
	uint32_t modules_seen, module_pass; /* pass in which any changed */
	uint64_t threads_next_ns;           /* names and ends are looked up then */
	struct thread_row *thread;          /* [MTW_THREADS_MAX] */
	uint32_t thread_limit, thread_pass; /* pass in which any changed */
};

bool sums_init(struct sums *sums);
void sums_pass(struct server *s, bool all);
void sums_threads(struct server *s);
void sums_modules(struct sums *sums);
/* NULL = never seen. It may be in *room, which is the caller's. */
const struct sum *sums_at(const struct sums *sums, slot_id id, struct sum *room);
void sums_touch(struct sums *sums, slot_id id); /* as if it changed in the pass to come */

#pragma GCC visibility pop

#endif
