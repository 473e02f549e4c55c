/* SPDX-License-Identifier: MIT
 *
 * book.h - books a block whose stack is known. The thread itself calls, under its guard; `t` is the
 * state to count in.
 */
#ifndef MT_RECORD_BOOK_H
#define MT_RECORD_BOOK_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"
#include "record/filter.h"
#include "record/loss.h"
#include "record/slots.h"
#include "record/thread.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

/* Counts a block, or as many as a sampled one stands for, in the shared state where there is no
 * memory for the thread's own counters. False: nowhere. */
bool mt_book_count(struct thread *t, slot_id slot, bool alloc, uint64_t blocks, size_t bytes);
/* Any block, by any thread's state; counted, then entered. `owner`: the thread it is booked to. */
void mt_book_enter(struct thread *t, const struct thread *owner, void *p, size_t bytes,
		   struct booking b);
/* A small block of t->last's stack is counted; enters it at e, ends the event, and returns p. */
void *mt_book_counted(struct thread *t, void *p, size_t bytes, small_entry *e);
/* A block that the map had where a new one begins. */
void mt_book_heal(struct thread *t, const struct block *old);
void mt_book_weighed_free(struct thread *t, const struct block *b); /* a sampled block */

#pragma GCC visibility pop

MT_INLINE struct booking book_exact(slot_id slot)
{
	return (struct booking){ slot, slot, 0 };
}

/* Taken out of the map: counts it as freed. */
MT_INLINE void book_free(struct thread *t, const struct block *b)
{
	if (unlikely(b->slot & SLOT_WEIGHED)) {
		mt_book_weighed_free(t, b);
		return;
	}
	if (unlikely(!mt_slots_free(t, b->slot, b->size)) &&
	    !mt_book_count(t, b->slot, false, 0, b->size))
		mt_record_loss(MTW_LOSS_SHADOW, b->size);
}

#endif
