/* SPDX-License-Identifier: MIT
 *
 * heap_api.c - blocks of allocators other than malloc, as the program itself reports them:
 * memtop/memtop.h has the contract, record/heaps.h their table. Runs on the program's threads, at
 * any time.
 *
 * They are counted as malloc's are (record/record.c): the same guard, stacks, slots, filters and
 * weights, in the same order. The heap is one more frame, the innermost. A malloc block that a heap
 * reports as the source of its blocks stops counting, as if freed there; its later free is ignored.
 */
#include "base/compiler.h"
#include "base/types.h"
#include "hooks/caller.h"
#include "hooks/gate.h"
#include "live/live.h"
#include "live/ticks.h"
#include "record/filter.h"
#include "record/guard.h"
#include "record/heaps.h"
#include "record/loss.h"
#include "record/record.h"
#include "record/slots.h"
#include "unwind/stacks.h"

#include <memtop/memtop.h>
#include <memtop/wire.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* A block on its way. */
struct report {
	struct thread *t, *c; /* its thread, and where it is counted */
	unsigned heap;
	uintptr_t key;
	size_t size;
	struct block twice; /* what stood there; slot 0 = nothing */
};

/* With no room at all the heap is as unknown as the stack. */
static node_id in_heap(node_id stack, unsigned heap)
{
	node_id node = mt_stacks_child(stack, mt_heaps_code(heap), NEED_CALL_SITES);

	return node ? node : stack;
}

/* The program reports an address twice: the first block has gone without a report. */
MT_COLD static void heal(struct thread *t, const struct block *old)
{
	mt_record_loss(MTW_LOSS_UNSEEN_FREE, old->size);
	mt_record_gone(t, old);
}

/* Room first, then counted, then entered. */
static void book(struct report *r, struct booking at)
{
	struct cell *cell = mt_heaps_claim(r->heap, r->key, &r->twice);

	if (cell && mt_book_count(r->c, at.slot, true, at.blocks, r->size)) {
		struct block b = { r->size, at.entry, mt_live_tick(),
				   atomic_load_explicit(&r->t->xindex, memory_order_relaxed) };
		mt_heaps_put(cell, r->heap, r->key, &b);
		return;
	}
	if (cell)
		mt_heaps_give_up(cell);
	mt_record_loss(MTW_LOSS_SHADOW, r->size);
}

/* Some filter is on, and the size does not leave the block out: see alloc_judged() in
 * record/record.c. */
static void book_judged(struct report *r, node_id node, uint32_t on)
{
	const struct period *period = &mt_filter_period[on >> FILTER_SHIFT];
	struct filtering *f = &r->t->filter;
	node_id cut = node;

	filter_event(f);
	if (on & FILTER_SAMPLE)
		mt_filter_draw(f, period);
	if (on & FILTER_STACK && !mt_filter_stack(period, &cut))
		return;
	if (cut != node)
		node = in_heap(cut, r->heap);
	if (!(on & FILTER_SAMPLE)) {
		filter_count(&f->xweighed, 1);
		book(r, book_exact(mt_slots_of(node)));
		return;
	}
	struct booking b = mt_filter_weigh(f, period, node, r->size);
	filter_count(&f->xweighed, b.blocks);
	book(r, b);
}

/* Is it left out for its size, or by sampling? `on`: the filter in force. */
static bool is_left_out(struct filtering *f, uint32_t on, size_t size)
{
	if (likely(!on))
		return false;
	if (f->on != on)
		mt_filter_renew(f, on);
	if (!filter_skips(f, on, size))
		return false;
	filter_event(f);
	return true;
}

static void report_alloc(struct thread *t, unsigned heap, const void *p, size_t size,
			 const struct regs *caller)
{
	uint32_t on = atomic_load_explicit(&mt_filter_on, memory_order_acquire);

	if (unlikely(!heap || !heaps_hold(size))) {
		mt_record_loss(MTW_LOSS_SHADOW, size);
		return;
	}
	struct report r = { .t = t, .heap = heap, .key = (uintptr_t)p, .size = size };
	if (unlikely(on)) /* it may not be booked at all */
		r.twice = mt_heaps_take(heap, r.key);
	if (unlikely(r.twice.slot))
		heal(t, &r.twice);
	if (is_left_out(&t->filter, on, size))
		return;
	struct thread *c = r.c = guard_in(t, caller->sp);
	if (unlikely(!c))
		return;
	r.twice.slot = 0;
	node_id stack = mt_record_node(t, c, caller);
	if (unlikely(on))
		book_judged(&r, in_heap(stack, heap), on);
	else
		book(&r, book_exact(mt_slots_of(in_heap(stack, heap))));
	guard_out(c);
	if (unlikely(r.twice.slot))
		heal(t, &r.twice);
}

static void report_free(struct thread *t, unsigned heap, const void *p)
{
	struct block b = mt_heaps_take(heap, (uintptr_t)p);

	if (likely(b.slot))
		mt_record_gone(t, &b);
	else if (!heaps_forget_backing(p) &&
		 !atomic_load_explicit(&mt_filter_ever, memory_order_relaxed))
		mt_record_loss(MTW_LOSS_UNKNOWN_FREE, 0);
}

MT_EXPORT void memtop_heap_alloc(struct memtop_heap *heap, const void *p, size_t size)
{
	struct thread *t = mt_gate_enter();

	if (t && p)
		report_alloc(t, mt_heaps_number(heap), p, size, CALLER);
}

MT_EXPORT void memtop_heap_free(struct memtop_heap *heap, const void *p)
{
	struct thread *t = mt_gate_enter();

	if (t && p)
		report_free(t, mt_heaps_number(heap), p);
}

MT_EXPORT void memtop_heap_realloc(struct memtop_heap *heap, const void *old, const void *p,
				   size_t size)
{
	struct thread *t = mt_gate_enter();

	if (!t)
		return;
	if (old)
		report_free(t, mt_heaps_number(heap), old);
	if (p)
		report_alloc(t, mt_heaps_number(heap), p, size, CALLER);
}

static void gone(void *t, const struct block *b)
{
	mt_record_gone(t, b);
}

MT_EXPORT void memtop_heap_reset(struct memtop_heap *heap, const void *start, size_t size)
{
	struct thread *t = mt_gate_enter();

	if (t)
		mt_heaps_take_range(mt_heaps_number(heap), (uintptr_t)start, size, gone, t);
}

/* A block of malloc's, or of another heap; of neither (from mmap, from before the agent) there is
 * nothing to take back. */
MT_EXPORT void memtop_heap_backing(struct memtop_heap *heap, const void *p)
{
	struct thread *t = p ? mt_gate_enter() : NULL;

	if (!t)
		return;
	struct block b = mt_live_take(p);
	if (!b.slot)
		b = mt_heaps_take_other(mt_heaps_number(heap), (uintptr_t)p);
	if (!b.slot)
		return;
	struct block stale; /* freed where nobody saw it */
	struct cell *cell = mt_heaps_claim(HEAP_BACKING, (uintptr_t)p, &stale);
	mt_record_gone(t, &b);
	if (cell)
		mt_heaps_put(cell, HEAP_BACKING, (uintptr_t)p, &b);
}
