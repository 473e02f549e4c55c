/* SPDX-License-Identifier: MIT
 *
 * filter.h - which blocks are recorded, and how many blocks each of them stands for.
 *
 * Without a filter mt_filter_on is 0. With one, mt_era has a bit that no remembered stack has, so
 * each allocation leaves its usual path, which tests mt_era in any case, and then looks at
 * mt_filter_on. mt_record_free() tests nothing: see FREE.
 *
 * A BLOCK THAT IS LEFT OUT has no entry in the live map and counts nowhere. Its free finds nothing
 * and is passed on. Once any filter was on (mt_filter_ever), the free of an unknown block is no
 * loss.
 *
 *   min_size, max_size   by the requested size
 *   sample=R             Poisson sampling by bytes: each byte is drawn with probability 1/R, and
 *                        a block is recorded when one of its bytes is. A thread draws the distance
 *                        to its next sample (exponential, mean R) and counts down: one subtraction,
 *                        one compare. Without other filters record/sampled_fast.h does it.
 *   libs, exclude        by the owner of the stack: here the innermost module that is neither the
 *                        agent, the C library nor the C++ runtime, as in HISTORY. (Viewers also
 *                        know function names, and look through g_malloc and its like.)
 *   merge=N              leaves nothing out, but cuts stacks behind their N outermost frames.
 *                        (depth= cuts the outermost ones: the walk just ends earlier, which costs
 *                        nothing.)
 *
 * WEIGHTS. A block of s bytes (1 for a block of 0) is drawn with probability p = 1 - exp(-s/R), so
 * a sample stands for 1/p blocks of s bytes. Counters are whole numbers: it counts as n blocks and
 * n * s bytes, where n is floor(1/p), or one more with the probability of the fraction. The mean of
 * n is 1/p exactly, therefore
 *     E(blocks counted) = blocks allocated,  E(bytes counted) = bytes allocated
 * and the variance of one block's share is (1-p)/p, plus p f (1-f) for the rounding, in blocks
 * squared (f: the fraction). 1/p is computed in whole numbers alone, as a function of (s, R). So it
 * does not depend on rounding modes or libm's version, and a block's free finds the very n of its
 * allocation. One bit in the live map's entry holds the direction of the rounding (SLOT_UP).
 *
 * SLOTS. Weighed blocks are booked to slots of their own, (node, epoch, R), so every slot holds
 * either exact figures or estimates with one R. A switch applies to later blocks only. Existing
 * ones keep their slot, and with it their weight: nothing is lost or invented, live = allocated -
 * freed to the block, and when everything is freed live is 0.
 *
 * FREE. The entry of a weighed block has SLOT_WEIGHED set in its slot. No thread has counters under
 * such a number, so mt_record_free() takes it for a slot that is new to the thread and leaves its
 * usual path without a test of its own. The free of a block that was left out asks
 * live/sampled.h while that has counts, else the live map.
 *
 * A thread reads mt_filter_on once for each block, but for those that its own gate stands for
 * (record/sampled_fast.h): the number of a period, and the kinds of filter.
 * Published periods do not change, so a thread decides and books by the same one, whatever is
 * switched meanwhile.
 *
 * Callers: record/record.c, in the target's threads; for mt_filter_update() base/conf.c and the
 * server's commands.
 */
#ifndef MT_RECORD_FILTER_H
#define MT_RECORD_FILTER_H

#include "base/compiler.h"
#include "base/types.h"

#define FILTER_SIZE 1u
#define FILTER_SAMPLE 2u
#define FILTER_STACK 4u /* libs, exclude, merge: the stack decides */
#define FILTER_SHIFT 3
#define FILTER_TIMED 1024 /* one event in so many is timed, */
#define FILTER_COLD 3     /* after so many that go the same way */

struct owners; /* record/filter_owner.c: what libs= and exclude= say of each module */

struct period {
	uint64_t min_size, max_size, sample, merge;
	uint32_t rate;         /* number of `sample` among the rates */
	struct owners *owners; /* NULL = any */
};

/* Where a block is booked, and for how many. */
struct booking {
	slot_id slot;    /* where it is counted */
	slot_id entry;   /* the slot in its entry of the live map */
	uint64_t blocks; /* that a sampled one stands for; 0 = it is not sampled */
};

#pragma GCC visibility push(hidden)
extern _Atomic uint32_t mt_filter_on; /* 0, or the period's number << FILTER_SHIFT | FILTER_... */
extern _Atomic uint32_t mt_filter_ever;
extern struct period mt_filter_period[];

const char *mt_filter_update(void);               /* puts mt_conf in force; NULL, or the error */
uint64_t mt_filter_weight(const struct block *b); /* blocks that it was counted as */
uint64_t mt_filter_rate(uint32_t rate);           /* its bytes; 0 = exact */
/* false: its own calls' allocations are left out now */
bool mt_filter_module_wanted(const struct module *m);
/* sets f->on to `on`; draws if that changes it */
void mt_filter_renew(struct filtering *f, uint32_t on);
void mt_filter_draw(struct filtering *f, const struct period *p); /* after a sample */
/* bytes to the next sample, at least 1 */
int64_t mt_filter_gap(struct filtering *f, uint64_t rate);
/* 1/p of a block of `size` bytes: whole blocks, and the fraction in 2^-32. */
uint64_t mt_filter_blocks(size_t size, uint64_t rate, uint32_t *fraction);
/* False: the filter leaves this stack out. It may cut the stack: *node is the node to book to. */
bool mt_filter_stack(const struct period *p, node_id *node);
struct booking mt_filter_weigh(struct filtering *f, const struct period *p, node_id node,
			       size_t size);
#pragma GCC visibility pop

/* What an allocation asks that has another stack than the expected one. */
MT_INLINE bool filter_is_on(void)
{
	return unlikely(atomic_load_explicit(&mt_filter_on, memory_order_relaxed));
}

/* Then threads have gates of their own: record/sampled_fast.h. */
MT_INLINE bool filter_only_samples(uint32_t on)
{
	return (on & ((1u << FILTER_SHIFT) - 1)) == FILTER_SAMPLE;
}

/* Relaxed and not atomic as a whole: the shared state's countdown may lose some. */
MT_INLINE void filter_count(_Atomic uint64_t *x, uint64_t n)
{
	atomic_store_explicit(x, atomic_load_explicit(x, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/*
 * EVENTS are counted down, so that the step that counts one also tells when one is due to be timed:
 * one subtraction, one branch. Their number is xevents - xuntimed; to put the next timing off adds
 * to both.
 */
MT_INLINE uint64_t filter_events(const struct filtering *f)
{
	int64_t untimed = atomic_load_explicit(&f->xuntimed, memory_order_acquire);

	return atomic_load_explicit(&f->xevents, memory_order_relaxed) - (uint64_t)untimed;
}

/* False: it is due to be timed, and not counted yet. */
MT_INLINE bool filter_event_untimed(struct filtering *f)
{
	bool due;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("subq $1, %0" : "+m"(f->xuntimed), "=@ccs"(due));
#else
	int64_t left = atomic_load_explicit(&f->xuntimed, memory_order_relaxed) - 1;
	atomic_store_explicit(&f->xuntimed, left, memory_order_relaxed);
	due = left < 0;
#endif
	if (likely(!due))
		return true;
	atomic_store_explicit(&f->xuntimed,
			      atomic_load_explicit(&f->xuntimed, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	return false;
}

/* One that is not timed, or was. */
MT_INLINE void filter_event(struct filtering *f)
{
	atomic_store_explicit(&f->xuntimed,
			      atomic_load_explicit(&f->xuntimed, memory_order_relaxed) - 1,
			      memory_order_relaxed);
}

MT_INLINE bool filter_timed(const struct filtering *f)
{
	return unlikely(atomic_load_explicit(&f->xuntimed, memory_order_relaxed) <= 0);
}

/* In this order: readers see no fewer events than there were. Some callers count events without a
 * look at xuntimed, so it may be far below 0. */
MT_INLINE void filter_put_off(struct filtering *f, int64_t events)
{
	int64_t untimed = atomic_load_explicit(&f->xuntimed, memory_order_relaxed);

	filter_count(&f->xevents, (uint64_t)(events - untimed));
	atomic_store_explicit(&f->xuntimed, events, memory_order_release);
}

/* Is a block of this size left out, whatever its stack? f->on must be `on`: see mt_filter_renew().
 * When it is not left out and `on` has FILTER_SAMPLE, it is one: call mt_filter_draw() next. */
MT_INLINE bool filter_skips(struct filtering *f, uint32_t on, size_t size)
{
	if (on & FILTER_SIZE) {
		const struct period *p = &mt_filter_period[on >> FILTER_SHIFT];
		if (size < p->min_size || size > p->max_size)
			return true;
	}
	if (!(on & FILTER_SAMPLE))
		return false;
	uint64_t left = atomic_load_explicit(&f->xleft, memory_order_relaxed), bytes = size + !size;
	if (unlikely(bytes > left))
		return false;
	atomic_store_explicit(&f->xleft, left - bytes, memory_order_relaxed);
	return true;
}

#endif
