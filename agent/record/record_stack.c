/* SPDX-License-Identifier: MIT
 *
 * record_stack.c - an allocation from another stack than the expected one.
 *
 * The stack is looked up among the thread's recent ones (struct hit), and captured if it is not
 * there. Then it takes the place of a hit.
 *
 * Where nearly every allocation has another stack, as in a compiler or a recursion over a large
 * tree, looking each up, and remembering it, costs as much as its capture, and evicts what the
 * program has in its caches. So a thread of whose last 80 allocations 64 had to be captured only
 * captures for a while, and then tries again. A stack that comes twice in a row would have been a
 * hit: each shortens that while. Instructions of a pair with three new frames: some 1,130, and
 * bare 698; a recursion over 131,000 paths: 1.2 times as fast.
 */
#include "record/record_stack.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "live/live_fast.h"
#include "live/origins.h"
#include "record/book.h"
#include "record/record_fast.h"
#include "record/slots.h"
#include "record/slots_fast.h"
#include "unwind/cache.h"
#include "unwind/fast.h"
#include "unwind/stacks_fast.h"
#include "unwind/unwind.h"

/* Captures after which a thread is judged, and of how many allocations they must be. */
#define TRIAL 64u
#define TRIAL_OF 80u
/* Captures without a look at the hits, and how many fewer for a stack that comes twice. */
#define BARE 1024u
#define BARE_TWICE 32u

/* A mark was set, or this is the child of a fork. */
MT_COLD static void renew_slot(struct hit *h, uint64_t epoch)
{
	h->slot = mt_slots_of(mt_slots_at(h->slot)->node);
	h->epoch = epoch;
}

/* Recomputes the parts of `h` that depend on more than the stack. Its counters are stamped, so they
 * are seen to change. `era` was read before everything that it covers, so a change meanwhile ends
 * it. False: the slot has no counters of this thread yet, or there is no number for its blocks. */
static bool renew(struct thread *t, struct hit *h, uint32_t era)
{
	uint64_t epoch = atomic_load_explicit(&mt_epoch, memory_order_relaxed);

	if (unlikely(h->epoch != epoch))
		renew_slot(h, epoch);
	struct counter_page *page = slots_page(t, h->slot);
	h->counts = slots_counts(page, h->slot);
	h->origin = likely(page != &mt_slots_no_page) ? live_entry(t, page, h->slot) : 0;
	if (unlikely(!h->origin)) {
		h->era = era - (ERA_FILTERED + 1); /* over */
		return false;
	}
	mt_slots_stamp(t, h->slot, page);
	atomic_signal_fence(memory_order_release); /* a handler may leave here for good */
	h->era = era;
	return true;
}

MT_COLD static bool make_hits(struct thread *t)
{
	struct hit *hits = mt_prim_map(HITS * sizeof(*hits), false);

	if (!hits)
		return false;
	mt_arena_range((uintptr_t)hits, HITS * sizeof(*hits), PART_CACHES);
	t->hits = hits;
	return true;
}

/* The stack's slot of this epoch, if the thread has counters for it, and its page; else 0. */
MT_INLINE slot_id counted_slot(const struct thread *t, node_id node, uint64_t epoch,
			       struct counter_page **page)
{
	slot_id slot = node_slot(stacks_node(node));

	*page = slots_page(t, slot);
	if (unlikely(*page == &mt_slots_no_page) || unlikely(!slots_is_of(slot, epoch)))
		return 0;
	if (!slot)
		__builtin_unreachable(); /* no thread has counters for it */
	return slot;
}

/* The stack has no counters yet, or its blocks get no number. */
MT_COLD static struct hit *unnumbered(struct thread *t, node_id node)
{
	t->none.slot = mt_slots_of(node);
	t->last = &t->none;
	return NULL;
}

/* Were so many of the last allocations' stacks not met lately that the next ones are bare? */
MT_COLD static void judge(struct thread *t)
{
	uint64_t blocks = atomic_load_explicit(&t->total.xalloc_blocks, memory_order_relaxed);

	if (blocks - t->trial_at < TRIAL_OF) {
		t->bare = BARE;
		t->none.next[0] = &t->none; /* never matches */
		t->link = t->none.next;
	}
	t->trial_at = blocks;
	t->misses = 0;
}

/*
 * Three ways to find the stack of an allocation. Each returns its hit, which is t->last from then
 * on. NULL: its blocks have no number yet, and are booked to t->last's slot.
 */

/* Captures, and remembers nothing: the hit is this allocation's alone. */
MT_INLINE struct hit *capture_bare(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	uint64_t epoch = atomic_load_explicit(&mt_epoch, memory_order_relaxed);
	struct regs r = { pc, sp, fp };
	struct counter_page *page;
	struct hit *h = &t->none;

	node_id node = mt_unwind_capture(t, &r);
	slot_id slot = counted_slot(t, node, epoch, &page);
	if (unlikely(slot && slot == h->slot))
		t->bare = t->bare > BARE_TWICE ? t->bare - BARE_TWICE : 1;
	if (--t->bare == 0)
		t->trial_at =
			atomic_load_explicit(&t->total.xalloc_blocks, memory_order_relaxed) + 1;
	if (unlikely(!slot))
		return unnumbered(t, node);
	h->slot = slot;
	h->counts = slots_counts(page, slot);
	h->origin = live_entry(t, page, slot);
	if (unlikely(!h->origin))
		return unnumbered(t, node);
	if (unlikely(!slots_stamped(page)))
		mt_slots_stamp(t, slot, page);
	t->last = h;
	return h;
}

/* The stack takes the place of a hit. */
static __attribute__((noinline)) struct hit *capture_new(struct thread *t, uintptr_t pc,
							 uintptr_t sp, uintptr_t fp)
{
	uint32_t era = mt_era_now();
	uint64_t epoch = atomic_load_explicit(&mt_epoch, memory_order_relaxed);
	struct regs r = { pc, sp, fp };
	struct counter_page *page;

	node_id node = mt_unwind_capture(t, &r);
	slot_id slot = counted_slot(t, node, epoch, &page);
	if (unlikely(!slot))
		return unnumbered(t, node);
	bool plain = unwind_is_plain(t->unwind, &r) && (likely(t->hits) || make_hits(t));
	struct hit *h = plain ? unwind_hit_place(t, pc, sp) : &t->none;
	h->sp = 0;
	atomic_signal_fence(memory_order_release);
	h->epoch = epoch;
	h->slot = slot;
	h->counts = slots_counts(page, slot);
	h->tag = (uint16_t)(t->turn % HIT_NEXT * sizeof(h->next[0]));
	for (int i = 0; i < HIT_NEXT; i++)
		h->next[i] = h;
	bool current = renew(t, h, era);
	if (likely(plain))
		unwind_remember(t->unwind, h);
	*t->link = h;
	record_met(t, h);
	return current ? h : NULL;
}

/* Looks among the thread's recent stacks. */
MT_INLINE struct hit *recall(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	uint32_t era = mt_era_now();
	struct hit *h = likely(t->hits) ? unwind_recent(t, pc, sp, fp) : NULL;

	if (unlikely(!h)) {
		h = capture_new(t, pc, sp, fp);
		if (unlikely(++t->misses >= TRIAL))
			judge(t);
		return h;
	}
	bool current = likely(h->era == era) || renew(t, h, era);
	*t->link = h;
	record_met(t, h);
	return likely(current) ? h : NULL;
}

void *mt_record_alloc_stack(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			    uintptr_t fp)
{
	const struct hit *h = t->bare ? capture_bare(t, pc, sp, fp) : recall(t, pc, sp, fp);
	bool small = likely(h) && likely(bytes < LARGE_MIN);

	return record_book(t, h, p, bytes, small ? live_small(live_fast(), p) : NULL);
}
