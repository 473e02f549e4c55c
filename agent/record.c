/* SPDX-License-Identifier: MIT
 *
 * record.c - what a hook does with a block: stack, slot, counters, live map; and what was lost.
 *
 * Everything between guard_in and guard_out belongs to the thread alone, but a signal handler may
 * interrupt it and allocate. Such an event is nested: it must touch neither the unwinder's cache
 * nor the plain counters, so it goes to the shared state (atomic additions) with a stack that says
 * why it is short. A handler may also leave by siglongjmp, an exception or cancellation, and then
 * the guard stays behind: its stack pointer tells. A hook that runs at or above the frame that set
 * it proves that this frame is gone.
 *
 * Order: counted, then entered; taken out, then counted. See slots.c for why.
 *
 * Our own time is estimated: of every 1,024 allocations and frees of a thread one is timed, less
 * what the clock itself costs. A sample in which the thread lost its cpu is cut off.
 */
#include "agent.h"

#include <memtop/wire.h>
#include <string.h>

#define TIMED_EVERY 1024u
#define TIMED_AT 512u          /* not the very first: rules and maps are made then */
#define TIMED_MAX_NS 20000u

static struct {
	_Atomic uint64_t xevents, xbytes;
} losses[MTW_LOSS_COUNT];

MT_COLD void mt_record_loss(unsigned reason, uint64_t bytes)
{
	atomic_fetch_add_explicit(&losses[reason].xevents, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&losses[reason].xbytes, bytes, memory_order_relaxed);
}

void mt_record_losses(unsigned reason, uint64_t *events, uint64_t *bytes)
{
	*events = atomic_load_explicit(&losses[reason].xevents, memory_order_relaxed);
	*bytes = atomic_load_explicit(&losses[reason].xbytes, memory_order_relaxed);
}

/* On another stack than the guard's (sigaltstack) positions say nothing: believe the guard. */
MT_COLD static bool nested(const struct thread *t, uintptr_t sp)
{
	uintptr_t size = t->stack_hi - t->stack_lo;

	if (size && (sp - t->stack_lo >= size || t->busy_sp - t->stack_lo >= size))
		return true;
	return sp < t->busy_sp;
}

/* The state to count in: t itself, or the shared one when t is in the middle of something. */
MT_INLINE struct thread *guard_in(struct thread *t)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	if (unlikely(t->busy_sp && nested(t, sp)))
		return mt_thread_shared();
	if (likely(!t->shared))
		t->busy_sp = sp;
	atomic_signal_fence(memory_order_seq_cst);
	return t;
}

MT_INLINE void guard_out(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (likely(!t->shared))
		t->busy_sp = 0;
}

static void count_free(struct thread *t, const struct block *b)
{
	if (unlikely(!mt_slots_free(t, b->slot, b->size)) &&
	    !mt_slots_free(mt_thread_shared(), b->slot, b->size))
		mt_record_loss(MTW_LOSS_SHADOW, b->size);
}

/* The map had an entry where a new block begins: its block was freed past us. Live heals. */
MT_COLD static void heal(struct thread *t, const struct block *old)
{
	mt_record_loss(MTW_LOSS_UNSEEN_FREE, old->size);
	count_free(t, old);
}

/* Out of memory for this slot's counters: book to the first slot rather than nowhere. */
MT_COLD static slot_id count_in_root(struct thread *t, size_t bytes)
{
	mt_record_loss(MTW_LOSS_SLOTS, bytes);
	return mt_slots_alloc(t, 1, bytes) ? 1 : 0;
}

static void enter(struct thread *t, const struct thread *owner, void *p, size_t bytes, node_id node)
{
	slot_id slot = mt_slots_of(node);
	struct block old;

	if (unlikely(!mt_live_ready(p, bytes))) {
		mt_record_loss(MTW_LOSS_SHADOW, bytes);
		return;
	}
	if (unlikely(!mt_slots_alloc(t, slot, bytes))) {
		slot = count_in_root(t, bytes);
		if (!slot)
			return;
	}
	if (unlikely(mt_live_enter(owner, p, bytes, slot, &old)))
		heal(t, &old);
}

static uint64_t clock_cost_ns(void)
{
	static _Atomic uint64_t xcost;
	uint64_t best = atomic_load_explicit(&xcost, memory_order_relaxed);

	if (best)
		return best;
	best = TIMED_MAX_NS;
	for (int i = 0; i < 8; i++) {
		uint64_t begin = mt_prim_now_ns(), cost = mt_prim_now_ns() - begin;
		best = cost < best ? cost : best;
	}
	atomic_store_explicit(&xcost, best ? best : 1, memory_order_relaxed);
	return best;
}

MT_COLD static void add_sample(struct thread *t, uint64_t begin)
{
	uint64_t ns = mt_prim_now_ns() - begin, cost = clock_cost_ns();

	ns = ns > cost ? ns - cost : 0;
	t->hook_ns += ns < TIMED_MAX_NS ? ns : TIMED_MAX_NS;
	t->hook_samples++;
}

/* Is this event, the n-th of its kind, one to be timed? The shared state has no owner to write. */
MT_INLINE bool is_timed(const struct thread *t, const _Atomic uint64_t *n)
{
	return unlikely((atomic_load_explicit(n, memory_order_relaxed) & (TIMED_EVERY - 1)) == TIMED_AT) &&
	       !t->shared && !t->busy_sp;
}

MT_INLINE void record_alloc(struct thread *t, void *p, size_t bytes, const struct regs *r)
{
	struct thread *c = guard_in(t);
	node_id node;

	if (likely(!c->shared))
		node = mt_unwind_capture(t, r);
	else
		node = mt_stacks_truncated(t->shared ? MTW_TRUNC_EARLY : MTW_TRUNC_REENTRY);
	enter(c, t, p, bytes, node);
	guard_out(c);
}

MT_COLD static void timed_alloc(struct thread *t, void *p, size_t bytes, const struct regs *r)
{
	uint64_t begin = mt_prim_now_ns();

	record_alloc(t, p, bytes, r);
	add_sample(t, begin);
}

void mt_record_alloc(struct thread *t, void *p, size_t bytes, const struct regs *r)
{
	if (is_timed(t, &t->total.xalloc_blocks))
		timed_alloc(t, p, bytes, r);
	else
		record_alloc(t, p, bytes, r);
}

/* Freed, and never seen allocated: the loader's from our own lookups, or from before we came. */
MT_COLD static bool unknown_free(const struct thread *t, const void *p)
{
	if (mt_real_boot_owns(p))
		return false;
	if (t->deleting != (uintptr_t)p)
		mt_record_loss(MTW_LOSS_UNKNOWN_FREE, 0);
	return true;
}

MT_INLINE bool record_free(struct thread *t, void *p)
{
	struct thread *c = guard_in(t);
	struct block b = mt_live_take(p);
	bool pass_on = true;

	if (likely(b.slot))
		count_free(c, &b);
	else
		pass_on = unknown_free(t, p);
	guard_out(c);
	return pass_on;
}

MT_COLD static bool timed_free(struct thread *t, void *p)
{
	uint64_t begin = mt_prim_now_ns();
	bool pass_on = record_free(t, p);

	add_sample(t, begin);
	return pass_on;
}

bool mt_record_free(struct thread *t, void *p)
{
	return is_timed(t, &t->total.xfree_blocks) ? timed_free(t, p) : record_free(t, p);
}

bool mt_record_take(struct thread *t, void *p, struct block *b)
{
	*b = mt_live_take(p);
	return b->slot || unknown_free(t, p);
}

void mt_record_gone(struct thread *t, const struct block *b)
{
	struct thread *c = guard_in(t);

	if (b->slot)
		count_free(c, b);
	guard_out(c);
}

void mt_record_restore(struct thread *t, void *p, const struct block *b)
{
	struct thread *c = guard_in(t);
	struct block old;

	if (b->slot && mt_live_restore(t, p, b, &old))
		heal(c, &old);
	guard_out(c);
}

void mt_record_totals(struct tally *sum)
{
	struct thread *first = atomic_load_explicit(&mt_threads, memory_order_acquire);

	memset(sum, 0, sizeof(*sum));
	for (const struct thread *t = first; t; t = t->next) {
		sum->free_blocks += atomic_load_explicit(&t->total.xfree_blocks, memory_order_acquire);
		sum->free_bytes += atomic_load_explicit(&t->total.xfree_bytes, memory_order_acquire);
	}
	first = atomic_load_explicit(&mt_threads, memory_order_acquire);
	for (const struct thread *t = first; t; t = t->next) {
		sum->alloc_blocks += atomic_load_explicit(&t->total.xalloc_blocks, memory_order_relaxed);
		sum->alloc_bytes += atomic_load_explicit(&t->total.xalloc_bytes, memory_order_relaxed);
	}
}
