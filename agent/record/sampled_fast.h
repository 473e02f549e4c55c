/* SPDX-License-Identifier: MIT
 *
 * sampled_fast.h - the path of the blocks that sampling leaves out: nearly all, while it is all
 * that filters. Hooks inline it, and then jump to the real function.
 *
 * Such a thread has a gate of its own, hot->sampled. While that is open, mt_filter_on is the period
 * that the thread counts down for, so nobody asks for it: a switch closes all gates
 * (mt_filter_update()), and the gate is opened for the new period. An event that passes the gate
 * while they are being closed is one of the old period; a sample among them is booked by the new
 * one.
 *
 * An allocation is counted down before the real call, which saves its size and its result. One that
 * fails has then used up some bytes, and is an event. Estimates stay unbiased, for a sample
 * that fails is used up, too (mt_record_failed()): the distance to the next has no memory. False
 * means that nothing was counted: it is a sample, or due to be timed, and takes the usual path.
 * tests/bench/instructions.py measures it.
 */
#ifndef MT_RECORD_SAMPLED_FAST_H
#define MT_RECORD_SAMPLED_FAST_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/sampled.h"
#include "modules/real.h"
#include "record/filter.h"

/* An allocation of so many bytes; those of 0 are left to the usual path. */
MT_INLINE bool sampled_skips(const struct hot *hot, size_t bytes)
{
	struct thread *t = hot->sampled;

	if (unlikely(!t))
		return false;
	uint64_t left = atomic_load_explicit(&t->filter.xleft, memory_order_relaxed);
	if (unlikely((uint64_t)bytes - 1 >= left) || !filter_event_untimed(&t->filter))
		return false;
	atomic_store_explicit(&t->filter.xleft, left - bytes, memory_order_relaxed);
	return true;
}

/* While there are any, the usual path tells them apart. They are there before the program's own: a
 * plain load, one instruction. */
MT_INLINE bool no_boot_blocks(void)
{
	return likely(!*(void *const *)&mt_real_boot);
}

/* A block that is to be freed, or NULL. True: it has no entry, and is none of the agent's own. */
MT_INLINE bool sampled_unknown(struct thread *t, const void *p)
{
	return likely(live_few_none(p) && no_boot_blocks()) && filter_event_untimed(&t->filter);
}

/* Frees such a block through the sampled gate of t. False: it is left to the usual path. */
MT_INLINE bool sampled_frees(struct thread *t, void *p)
{
	if (!sampled_unknown(t, p))
		return false;
	mt_real.free(p);
	return true;
}

/* A block, or NULL, that becomes one of so many bytes: one event. */
MT_INLINE bool sampled_moves(const struct hot *hot, const void *p, size_t bytes)
{
	return hot->sampled && live_few_none(p) && no_boot_blocks() && sampled_skips(hot, bytes);
}

#endif
