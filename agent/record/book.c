/* SPDX-License-Identifier: MIT
 *
 * book.c - books a block whose stack is known: counters, then the live map; and what does not go as
 * usual there. record/record.c has the rules.
 */
#include "record/book.h"
#include "base/compiler.h"
#include "base/state.h"
#include "live/live.h"
#include "live/live_fast.h"
#include "live/origins.h"
#include "record/filter.h"
#include "record/guard.h"
#include "record/loss.h"
#include "record/slots.h"
#include "record/slots_fast.h"
#include "record/thread.h"

#include <memtop/wire.h>

static bool count_in(struct thread *t, slot_id slot, bool alloc, uint64_t blocks, size_t bytes)
{
	if (unlikely(blocks))
		return mt_slots_weighed(t, slot, alloc, blocks, blocks * bytes);
	return alloc ? mt_slots_alloc(t, slot, bytes) : mt_slots_free(t, slot, bytes);
}

bool mt_book_count(struct thread *t, slot_id slot, bool alloc, uint64_t blocks, size_t bytes)
{
	return count_in(t, slot, alloc, blocks, bytes) ||
	       count_in(mt_thread_shared(), slot, alloc, blocks, bytes);
}

/* A sampled block: by the weight that it was counted with. */
MT_COLD void mt_book_weighed_free(struct thread *t, const struct block *b)
{
	uint64_t blocks = mt_filter_weight(b);
	slot_id slot = b->slot & (WEIGHED_END - 1);

	filter_event(&t->filter);
	filter_count(&t->filter.xweighed, blocks);
	if (!mt_book_count(t, slot, false, blocks, b->size))
		mt_record_loss(MTW_LOSS_SHADOW, b->size);
}

/*
 * The map had an entry where a new block begins: its block was freed past us. Live heals. While a
 * detach is under way it was freed by a thread whose gate is closed already, and given out to one
 * whose gate is still open: nothing was lost.
 */
MT_COLD void mt_book_heal(struct thread *t, const struct block *old)
{
	if (atomic_load_explicit(&mt_state, memory_order_relaxed) != AGENT_OFF) {
		mt_record_loss(MTW_LOSS_UNSEEN_FREE, old->size);
		mt_live_suspect();
	}
	book_free(t, old);
}

/* The entry, without its size, of a small block that is counted in c; 0: no number fits it. */
static uint32_t origin_of(const struct thread *c, const struct thread *owner, size_t bytes,
			  struct booking b)
{
	struct counter_page *page = slots_page(c, b.slot);

	if (c != owner || unlikely(c->shared))
		return 0;
	if (b.blocks)
		return LIVE_OF_ITS_OWN;
	return bytes < LARGE_MIN && page != &mt_slots_no_page ? live_entry(c, page, b.slot) : 0;
}

void mt_book_enter(struct thread *t, const struct thread *owner, void *p, size_t bytes,
		   struct booking b)
{
	struct block old;

	if (unlikely(!mt_live_ready(p, bytes) ||
		     !mt_book_count(t, b.slot, true, b.blocks, bytes))) {
		mt_record_loss(MTW_LOSS_SHADOW, bytes);
		return;
	}
	if (unlikely(b.blocks))
		filter_count(&t->filter.xweighed, b.blocks);
	switch (mt_live_enter(owner, p, bytes, b.entry, origin_of(t, owner, bytes, b), &old)) {
	case LIVE_ENTERED: break;
	case LIVE_OCCUPIED: mt_book_heal(t, &old); break;
	case LIVE_NO_ROOM:
		mt_book_count(t, b.slot, false, b.blocks, bytes);
		mt_record_loss(MTW_LOSS_SHADOW, bytes);
	}
}

/* Blocks in the way are taken out by their address: there may be several, or none that is known. */
MT_COLD void *mt_book_counted(struct thread *t, void *p, size_t bytes, small_entry *e)
{
	while (live_occupied(e)) {
		struct block old = mt_live_take(p);
		if (old.slot)
			mt_book_heal(t, &old);
	}
	live_put(e, bytes, t->last->origin);
	mt_slots_after_slow(t);
	guard_out(t);
	return p;
}
