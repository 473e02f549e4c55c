/* SPDX-License-Identifier: MIT
 *
 * peak.h - every counter as it was when the heap was at its highest.
 */
#ifndef MT_RECORD_PEAK_H
#define MT_RECORD_PEAK_H

#include "base/compiler.h"
#include "base/types.h"

#pragma GCC visibility push(hidden)

/* The live bytes are so many now: a new peak, if they pass the last one by PEAK_SHARE. Any thread.
 */
#define PEAK_SHARE 128
void mt_peak_rise(int64_t live, bool last); /* last: ... if they pass it at all */
/* A thread publishes that, and how many bytes it freed since it last did: ... or if a PEAK_TURN-th
 * was freed since they were highest, and no peak has that. It frees `next` now. */
#define PEAK_TURN 512
void mt_peak_published(int64_t live, uint64_t freed, uint64_t next);
/* For the server, which reads a peak: while it is on, only PEAK_SHARE begins a new one. */
void mt_peak_hold(bool on);
void mt_peak_begin(int64_t live); /* this is the peak, whatever was before */
void mt_peak_restart(void);       /* there is none, while no thread counts */

extern _Atomic uint32_t mt_peak_pass; /* the first pass after the peak; 0 = there is none */
/* Call both before a page that is not stamped with this pass changes: false, then keep. */
MT_INLINE bool mt_peak_has(const struct counter_page *page)
{
	return atomic_load_explicit(&page->xstamp, memory_order_relaxed) >=
	       atomic_load_explicit(&mt_peak_pass, memory_order_acquire);
}
void mt_peak_keep(const struct thread *t, struct counter_page *page);

/* For the server. The peak's number; 0 = there is none. */
uint32_t mt_peak_newest(uint64_t *time_ns);
/* Adds the counters that a page had at the peak of that number. False: they are gone, for a newer
 * one, or could not be kept. */
bool mt_peak_add(const struct counter_page *page, uint32_t number, struct tally sum[PAGE_SLOTS]);
/* The live bytes at that peak were so many: what mt_peak_rise() compares with. */
void mt_peak_correct(uint32_t number, int64_t live);

#pragma GCC visibility pop

#endif
