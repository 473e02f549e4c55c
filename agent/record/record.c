/* SPDX-License-Identifier: MIT
 *
 * record.c - records a hook's block: stack, slot, counters, live map.
 *
 * Everything between guard_in and guard_out belongs to the thread alone, but a signal handler may
 * interrupt it and allocate. Such an event is nested: it must touch neither the unwinder's cache
 * nor the plain counters. So it goes to the shared state (atomic additions), with a stack that says
 * why it is short. A handler may also leave by siglongjmp, an exception or cancellation, and then
 * the guard stays behind. Its stack pointer shows that: a hook that runs at or above the frame that
 * set it proves that this frame is gone.
 *
 * Hooks inline the path of every event from record/record_fast.h. It tail-calls into this file for
 * anything unusual, so the usual case saves no registers. record/record_stack.c has the stacks that
 * were not expected.
 *
 * Order: counted, then entered; taken out, then counted. record/slots.c has the reason.
 */
#include "record/record.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/stack_bounds.h"
#include "base/state.h"
#include "live/live.h"
#include "live/live_fast.h"
#include "live/sampled.h"
#include "modules/real.h"
#include "record/book.h"
#include "record/cost.h"
#include "record/filter.h"
#include "record/guard.h"
#include "record/heaps.h"
#include "record/loss.h"
#include "record/record_fast.h"
#include "record/record_stack.h"
#include "record/slots.h"
#include "record/slots_fast.h"
#include "record/thread.h"
#include "unwind/fast.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>

/* Do both stack pointers lie on one stack? A native one may reach further in than was seen yet. */
static bool one_stack(const struct known *known, uintptr_t outer, uintptr_t inner)
{
	bool any = false;

	for (int i = 0; i < KNOWN; i++) {
		const struct bounds *b = &known->at[i];
		any |= b->hi != 0;
		if (unwind_in(b, outer) && inner < b->hi && (inner >= b->lo || b->native))
			return true;
	}
	return !any;
}

/*
 * On another stack than the guard's (sigaltstack) positions say nothing: believe the guard. If it
 * was left behind, so was a capture that had begun; later ones may lie further in, where they could
 * not tell.
 */
MT_COLD bool mt_record_nested(const struct thread *t, uintptr_t sp)
{
	if (sp < t->busy_sp || (t->unwind && !one_stack(&t->unwind->known, sp, t->busy_sp)))
		return true;
	if (t->unwind)
		mt_unwind_abandon(t->unwind);
	return false;
}

node_id mt_record_node(struct thread *t, const struct thread *c, const struct regs *r)
{
	if (likely(!c->shared))
		return mt_unwind_capture(t, r);
	return mt_stacks_truncated(t->shared ? MTW_TRUNC_EARLY : MTW_TRUNC_REENTRY);
}

/* Any block, for itself alone. */
static __attribute__((noinline)) void *alloc_exact(struct thread *t, void *p, size_t bytes,
						   uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct thread *c = guard_in(t, sp);

	if (likely(c && !c->shared))
		return mt_record_alloc_stack(t, p, bytes, pc, sp, fp);
	if (c)
		mt_book_enter(c, t, p, bytes, book_exact(mt_slots_of(mt_record_node(t, c, NULL))));
	return p;
}

/* The stack decides, or the block is a sample: of the period that filter_skips() was asked
 * about. */
static __attribute__((noinline)) void *alloc_judged(struct thread *t, void *p, size_t bytes,
						    uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	uint32_t on = t->filter.on;
	const struct period *period = &mt_filter_period[on >> FILTER_SHIFT];
	struct regs r = { pc, sp, fp };
	struct thread *c = guard_in(t, sp);
	if (unlikely(!c))
		return p;
	node_id node = mt_record_node(t, c, &r);

	filter_event(&t->filter);
	if (on & FILTER_SAMPLE)
		mt_filter_draw(&t->filter, period);
	if (!(on & FILTER_STACK) || mt_filter_stack(period, &node)) {
		struct booking b;
		if (on & FILTER_SAMPLE) {
			b = mt_filter_weigh(&t->filter, period, node, bytes);
		} else {
			b = book_exact(mt_slots_of(node));
			filter_count(&t->filter.xweighed, 1);
		}
		mt_book_enter(c, t, p, bytes, b);
	}
	guard_out(c);
	return p;
}

/* The clock and this code are cold in the first ones, and the next one is timed again. */
static void add_left_out(struct filtering *f, uint64_t ns)
{
	if (f->cold++ < FILTER_COLD)
		return;
	cost_add(&f->timed, ns);
	f->cold = 0;
	filter_put_off(f, FILTER_TIMED);
}

/* The first event of a period, or one that is timed. Those that end as usual ones are timed as
 * such. */
MT_COLD static void *alloc_filtered_rare(struct thread *t, void *p, size_t bytes, uintptr_t pc,
					 uintptr_t sp, uintptr_t fp, uint32_t on)
{
	struct filtering *f = &t->filter;
	uint64_t begin, before;

	mt_filter_renew(f, on);
	if (!filter_timed(f))
		return mt_record_alloc_rare(t, p, bytes, pc, sp, fp);
	begin = mt_prim_now_ns();
	filter_put_off(f, 1);
	before = filter_events(f);
	mt_record_alloc_rare(t, p, bytes, pc, sp, fp);
	if (filter_events(f) != before)
		add_left_out(f, mt_prim_now_ns() - begin);
	return p;
}

/* A filter is on (see record/filter.h), or the block is not small, or the first in its region, or
 * the guard is not simply open. Blocks that are left out take a path without calls. */
void *mt_record_alloc_rare(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp)
{
	uint32_t on = atomic_load_explicit(&mt_filter_on, memory_order_acquire);

	if (!on)
		return alloc_exact(t, p, bytes, pc, sp, fp);
	if (unlikely(t->filter.on != on || filter_timed(&t->filter)))
		return alloc_filtered_rare(t, p, bytes, pc, sp, fp, on);
	if (unlikely(!filter_skips(&t->filter, on, bytes)))
		return on & (FILTER_SAMPLE | FILTER_STACK) ? alloc_judged(t, p, bytes, pc, sp, fp)
							   : alloc_exact(t, p, bytes, pc, sp, fp);
	filter_event(&t->filter);
	return p;
}

void *mt_record_alloc_other(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			    uintptr_t fp)
{
	bool late = thread_is_late(t);

	if (likely(!filter_is_on() && !late))
		return mt_record_alloc_stack(t, p, bytes, pc, sp, fp);
	guard_out(t);
	return late ? p : mt_record_alloc_rare(t, p, bytes, pc, sp, fp);
}

MT_COLD void mt_record_failed(struct thread *t, size_t bytes)
{
	uint32_t on = atomic_load_explicit(&mt_filter_on, memory_order_acquire);
	struct filtering *f = &t->filter;

	if (!t->shared && filter_only_samples(on) && f->on == on && !filter_skips(f, on, bytes))
		mt_filter_draw(f, &mt_filter_period[on >> FILTER_SHIFT]);
}

MT_COLD static void *alloc_timed(struct thread *t, void *p, size_t bytes, uintptr_t pc,
				 uintptr_t sp, uintptr_t fp)
{
	uint64_t begin = mt_prim_now_ns();

	record_alloc(t, p, bytes, pc, sp, fp);
	mt_cost_event(t, mt_prim_now_ns() - begin);
	return p;
}

void *mt_record_alloc(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
		      uintptr_t fp)
{
	return unlikely(cost_is_timed(t)) ? alloc_timed(t, p, bytes, pc, sp, fp)
					  : record_alloc(t, p, bytes, pc, sp, fp);
}

void mt_record_restart(void)
{
	mt_record_losses_restart();
	atomic_store(&mt_filter_ever, 0);
}

uint64_t mt_record_seen(const struct thread *t)
{
	return atomic_load_explicit(&t->total.xalloc_blocks, memory_order_relaxed) +
	       filter_events(&t->filter);
}

/* Freed, and never seen allocated: the loader's from our own lookups, from before we came,
 * filtered. */
MT_COLD static bool unknown_free(const struct thread *t, void *p)
{
	if (mt_real_boot_owns(p))
		return false;
	if (heaps_forget_backing(p))
		return true;
	if (t->deleting != (uintptr_t)p &&
	    !atomic_load_explicit(&mt_filter_ever, memory_order_relaxed))
		mt_record_loss(MTW_LOSS_UNKNOWN_FREE,
			       mt_state_attached() ? mt_real.malloc_usable_size(p) : 0);
	return true;
}

static bool count_freed(struct thread *t, void *p, uintptr_t sp)
{
	struct thread *c = guard_in(t, sp);
	if (unlikely(!c))
		return !mt_real_boot_owns(p);
	struct block b = mt_live_take(p);
	bool pass_on = true;

	if (likely(b.slot))
		book_free(c, &b);
	else
		pass_on = unknown_free(t, p);
	guard_out(c);
	return pass_on;
}

/* A large block, an unknown one, one whose slot is new to the thread; or the guard is not open. */
static void free_any(struct thread *t, void *p)
{
	uintptr_t sp = (uintptr_t)__builtin_dwarf_cfa();

	if (count_freed(t, p, sp))
		mt_real.free(p);
}

MT_COLD static void free_timed(struct thread *t, void *p)
{
	uint64_t begin = mt_prim_now_ns();
	bool pass_on = !mt_live_knows(p) && !mt_real_boot_owns(p);

	filter_put_off(&t->filter, 1);
	filter_event(&t->filter);
	add_left_out(&t->filter, mt_prim_now_ns() - begin);
	if (pass_on)
		mt_real.free(p);
}

/* Never recorded, as most blocks when some filter is on, or was. */
MT_INLINE void free_left_out(struct thread *t, void *p)
{
	if (unlikely(filter_timed(&t->filter))) {
		free_timed(t, p);
		return;
	}
	filter_event(&t->filter);
	if (likely(!mt_real_boot_owns(p)))
		mt_real.free(p);
}

/* No small block has an entry at p. */
static void free_unknown(void *p, struct thread *t)
{
	if (unlikely(!atomic_load_explicit(&mt_filter_ever, memory_order_relaxed) ||
		     mt_live_knows_large(p)))
		free_any(t, p);
	else
		free_left_out(t, p);
}

void mt_record_free_slow(void *p, struct thread *t)
{
	const small_entry *e = live_small(live_fast(), p);

	if (unlikely(!p))
		return;
	if (likely(e && !atomic_load_explicit(e, memory_order_relaxed)))
		free_unknown(p, t);
	else if (likely(live_few_none(p)) ||
		 (atomic_load_explicit(&mt_filter_ever, memory_order_relaxed) && !mt_live_knows(p)))
		free_left_out(t, p);
	else
		free_any(t, p);
}

MT_COLD void mt_record_gone_after(struct thread *t)
{
	mt_slots_after_slow(t);
	guard_out(t);
}

MT_COLD void mt_record_free_after(void *p, struct thread *t)
{
	mt_record_gone_after(t);
	mt_real.free(p);
}

MT_COLD static void free_whole_timed(struct thread *t, void *p)
{
	uint64_t begin = mt_prim_now_ns();
	struct taken old = record_take(p);
	bool pass_on = true;

	if (likely(old.origin))
		record_gone(t, old);
	else
		pass_on = count_freed(t, p, (uintptr_t)__builtin_dwarf_cfa());
	mt_cost_event(t, mt_prim_now_ns() - begin);
	if (pass_on)
		mt_real.free(p);
}

void mt_record_free(struct thread *t, void *p)
{
	if (unlikely(cost_is_timed(t)))
		free_whole_timed(t, p);
	else
		record_free(t, p);
}

bool mt_record_take(struct thread *t, void *p, struct block *b)
{
	if (unlikely(atomic_load_explicit(&mt_filter_ever, memory_order_relaxed)) &&
	    !mt_live_knows(p)) {
		b->slot = 0;
		return !mt_real_boot_owns(p);
	}
	*b = mt_live_take(p);
	return b->slot || unknown_free(t, p);
}

void mt_record_gone(struct thread *t, const struct block *b)
{
	if (unlikely(!b->slot))
		return;
	struct thread *c = guard_in(t, (uintptr_t)__builtin_dwarf_cfa());
	if (unlikely(!c))
		return;
	book_free(c, b);
	guard_out(c);
}

void mt_record_restore(struct thread *t, void *p, const struct block *b)
{
	struct thread *c = guard_in(t, (uintptr_t)__builtin_dwarf_cfa());
	struct block old;

	if (unlikely(!c))
		return;
	switch (b->slot ? mt_live_restore(t, p, b, &old) : LIVE_ENTERED) {
	case LIVE_ENTERED: break;
	case LIVE_OCCUPIED: mt_book_heal(c, &old); break;
	case LIVE_NO_ROOM: book_free(c, b); mt_record_loss(MTW_LOSS_SHADOW, b->size);
	}
	guard_out(c);
}
