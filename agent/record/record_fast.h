/* SPDX-License-Identifier: MIT
 *
 * record_fast.h - the path of every malloc and free, in one screen.
 *
 * It is inlined into the frequent hooks, where the caller's pc, sp and fp need no registers. An
 * allocation from the expected stack (struct hit) looks in neither the trie nor the counters' tree.
 * Anything unusual is a tail call into record/record.c, which has the rules; from there
 * record/record_stack.c finds other stacks. record_book() books them all. Measured:
 * tests/bench/instructions.py.
 */
#ifndef MT_RECORD_RECORD_FAST_H
#define MT_RECORD_RECORD_FAST_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"
#include "modules/real.h"
#include "record/book.h"
#include "record/filter.h"
#include "record/record.h"
#include "record/slots_fast.h"
#include "unwind/fast.h"

/* Each returns p. */
void *mt_record_alloc_rare(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp); /* not small, filtered, or the guard is not open */
void *mt_record_alloc_other(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			    uintptr_t fp); /* not the expected stack; the guard is set */
/* p comes first, where the real free expects it, so the usual path moves nothing. */
void mt_record_free_slow(void *p, struct thread *t); /* or p is NULL */
void mt_record_free_after(void *p, struct thread *t);
void mt_record_gone_after(struct thread *t);

/* Predicts the next stack: the one that followed the last two when they last came in this order. */
MT_INLINE void record_met(struct thread *t, struct hit *h)
{
	t->link = (struct hit **)((char *)h->next + t->last->tag);
	atomic_signal_fence(memory_order_seq_cst); /* two stores, not a vector of both */
	t->last = h;
}

/* Books a block of the stack h: counted, then entered. It ends the event. `e`: of live_small(), and
 * t->last = h; NULL: the block is not small, the first in its region, or no number fits it. */
MT_INLINE void *record_book(struct thread *t, const struct hit *h, void *p, size_t bytes,
			    small_entry *e)
{
	if (unlikely(!e)) {
		mt_book_enter(t, t, p, bytes, book_exact(t->last->slot));
	} else {
		bool room = slots_count_alloc(t, h->counts, bytes);
		atomic_signal_fence(memory_order_seq_cst);
		if (unlikely(!room || live_occupied(e)))
			return mt_book_counted(t, p, bytes, e);
		live_put(e, bytes, h->origin);
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy_sp = 0;
	return p;
}

/* The frame pointer of the hook's caller, for a call that is seldom made: where it has a register
 * of its own, it is not copied before. */
MT_INLINE uintptr_t caller_fp(uintptr_t fp)
{
#if defined(MT_FIXED_RBP)
	__asm__("mov %%rbp, %0" : "=r"(fp));
#endif
	return fp;
}

MT_INLINE void *record_alloc(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			     uintptr_t fp)
{
	small_entry *e = live_small(live_fast(), p);
	in_register_of_fifth(sp);
	if (unlikely(!e || bytes >= LARGE_MIN || t->busy_sp))
		return mt_record_alloc_rare(t, p, bytes, pc, sp, caller_fp(fp));
	live_expect(e);
	t->busy_sp = sp;
	atomic_signal_fence(memory_order_seq_cst);
	struct hit *h = *t->link;
	uint32_t era = atomic_load_explicit(&mt_era, memory_order_relaxed);
	if (unlikely(!unwind_hits(h, pc, sp, fp, era)))
		return mt_record_alloc_other(t, p, bytes, pc, sp, caller_fp(fp));
	record_met(t, h);
	return record_book(t, h, p, bytes, e);
}

/* Is no event of the thread under way, and the page stamped? One branch tells. */
MT_INLINE bool record_may_count(const struct thread *t, const struct counter_page *page)
{
	return likely(!(t->busy_sp | slots_unstamped(page)));
}

/* Sets the guard of an event that calls nothing: any address further in than the caller's does. */
MT_INLINE void record_enter(struct thread *t)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=m"(t->busy_sp));
#else
	t->busy_sp = (uintptr_t)__builtin_dwarf_cfa();
#endif
	atomic_signal_fence(memory_order_seq_cst);
}

/* A small block, taken out of the map. */
struct taken {
	uint64_t origin; /* 0 = it has to be looked for */
	size_t size;
};

/* mt_record_take() for most small blocks. */
MT_INLINE struct taken record_take(const void *p)
{
	const struct live_open *in = live_fast();
	small_entry *e = live_small(in, p);
	uint32_t v = likely(e) ? atomic_load_explicit(e, memory_order_acquire) : 0;
	struct taken b = { live_origin(in, v), live_size(v) };

	if (likely(b.origin))
		atomic_store_explicit(e, 0, memory_order_relaxed);
	return b;
}

/* mt_record_gone() for record_take()'s */
MT_INLINE void record_gone(struct thread *t, struct taken b)
{
	slot_id slot = (slot_id)b.origin;
	struct counter_page *page = slots_page(t, slot);

	if (unlikely(!record_may_count(t, page))) {
		struct block any = origin_block(b.origin, b.size);
		mt_record_gone(t, &any);
		return;
	}
	record_enter(t);
	if (unlikely(!slots_count_free(t, slots_counts(page, slot), b.size))) {
		mt_record_gone_after(t);
		return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy_sp = 0;
}

/* Taken out, then counted, then freed. No entry, and an unusual one, have origin 0: no thread has
 * counters of slot 0. NULL has no page. */
MT_INLINE void record_free(struct thread *t, void *p)
{
	const struct live_open *in = live_fast();
	small_entry *e = live_small(in, p);

	if (unlikely(!e)) {
		mt_record_free_slow(p, t);
		return;
	}
	uint32_t v = atomic_load_explicit(e, memory_order_acquire);
	slot_id slot = (slot_id)live_origin(in, v);
	struct counter_page *page = slots_page(t, slot);
	if (unlikely(!record_may_count(t, page))) {
		mt_record_free_slow(p, t);
		return;
	}
	record_enter(t);
	atomic_store_explicit(e, 0, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!slots_count_free(t, slots_counts(page, slot), live_size(v)))) {
		mt_record_free_after(p, t);
		return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy_sp = 0;
	mt_real.free(p);
}

#endif
