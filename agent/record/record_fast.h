/* SPDX-License-Identifier: MIT
 *
 * record_fast.h - the path of every malloc and free, in one screen.
 *
 * It is inlined into the frequent hooks, where the caller's pc, sp and fp need no registers. An
 * allocation from the expected stack (struct hit) looks in neither the trie nor the counters' tree.
 * Anything unusual is a tail call into record/record.c, which has the rules, or into
 * record/record_stack.c. Measured:
 * tests/bench/instructions.py.
 */
#ifndef MT_RECORD_RECORD_FAST_H
#define MT_RECORD_RECORD_FAST_H

#include "base/compiler.h"
#include "base/types.h"
#include "modules/real.h"
#include "record/book.h"
#include "record/filter.h"
#include "record/live_fast.h"
#include "record/record.h"
#include "record/record_stack.h"
#include "record/slots_fast.h"
#include "unwind/fast.h"

/* Each returns p. */
void *mt_record_alloc_rare(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp); /* not small, or the guard is not open */
void *mt_record_alloc_filtered(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			       uintptr_t fp); /* some filter is on; the guard is not set */
void mt_record_free_slow(struct thread *t, void *p);
void mt_record_free_unknown(struct thread *t, void *p); /* no small block has an entry at p */
void mt_record_free_after(struct thread *t, void *p, slot_id slot);
void mt_record_gone_after(struct thread *t, slot_id slot);

/* Predicts the next stack: the one that followed the last two when they last came in this order. */
MT_INLINE void record_met(struct thread *t, struct hit *h)
{
	t->link = (struct hit **)((char *)h->next + t->last->tag);
	t->last = h;
}

/* Counted, then entered. `e` = live_small(p); t->last = h. */
MT_INLINE void *record_book(struct thread *t, const struct hit *h, void *p, size_t bytes,
			    _Atomic uint64_t *e)
{
	bool room = slots_count_alloc(t, h->counts, bytes);
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!room || live_occupied(e)))
		return mt_book_after(t, p, bytes, e);
	live_put(e, bytes, h->mark);
	atomic_signal_fence(memory_order_seq_cst);
	t->busy_sp = 0;
	return p;
}

/* Any block of the stack t->last. */
MT_INLINE void *record_any(struct thread *t, void *p, size_t bytes)
{
	_Atomic uint64_t *e = live_small(p);

	if (unlikely(!e || bytes >= LARGE_MIN))
		return mt_book_large(t, p, bytes);
	return record_book(t, t->last, p, bytes, e);
}

MT_INLINE void *record_alloc(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			     uintptr_t fp)
{
	_Atomic uint64_t *e = live_small(p);
	if (unlikely(!e || bytes >= LARGE_MIN || t->busy_sp))
		return mt_record_alloc_rare(t, p, bytes, pc, sp, fp);
	live_expect(e);
	t->busy_sp = sp;
	atomic_signal_fence(memory_order_seq_cst);
	struct hit *h = *t->link;
	uint32_t era = atomic_load_explicit(&mt_era, memory_order_relaxed);
	if (unlikely(!unwind_hits(h, pc, sp, fp, era)))
		return mt_record_alloc_other(t, p, bytes, pc, sp, fp);
	record_met(t, h);
	return record_book(t, h, p, bytes, e);
}

/* mt_record_take() */
MT_INLINE bool record_take(struct thread *t, void *p, struct block *b)
{
	_Atomic uint64_t *e = live_small(p);
	uint64_t v = likely(e) ? atomic_load_explicit(e, memory_order_acquire) : 0;

	if (unlikely(!v))
		return mt_record_take(t, p, b);
	*b = unpack_small(v);
	atomic_store_explicit(e, 0, memory_order_relaxed);
	return true;
}

/* mt_record_gone() */
MT_INLINE void record_gone(struct thread *t, const struct block *b)
{
	struct leaf *leaf = slots_leaf(t, b->slot);

	if (unlikely(t->busy_sp || !slots_stamped(leaf))) {
		mt_record_gone(t, b);
		return;
	}
	t->busy_sp = (uintptr_t)__builtin_dwarf_cfa();
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!slots_count_free(t, slots_counts(leaf, b->slot), b->size))) {
		mt_record_gone_after(t, b->slot);
		return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy_sp = 0;
}

/* Taken out, then counted, then freed. */
MT_INLINE void record_free(struct thread *t, void *p)
{
	_Atomic uint64_t *e = live_small(p);

	if (unlikely(!e)) {
		mt_record_free_slow(t, p);
		return;
	}
	uint64_t v = atomic_load_explicit(e, memory_order_acquire);
	if (unlikely(!v)) {
		mt_record_free_unknown(t, p);
		return;
	}
	struct block b = unpack_small(v);
	struct leaf *leaf = slots_leaf(t, b.slot);
	if (unlikely(t->busy_sp || !slots_stamped(leaf))) {
		mt_record_free_slow(t, p);
		return;
	}
	t->busy_sp = (uintptr_t)__builtin_dwarf_cfa();
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(e, 0, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!slots_count_free(t, slots_counts(leaf, b.slot), b.size))) {
		mt_record_free_after(t, p, b.slot);
		return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy_sp = 0;
	mt_real.free(p);
}

#endif
