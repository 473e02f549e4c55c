/* SPDX-License-Identifier: MIT
 *
 * fast.h - is this the stack of the last allocation, or of a recent one?
 *
 * An engine keeps the thread's last stack as pairs: each word that a walk would read, and its value
 * then (unwind/incremental.c says why equal pairs mean an equal stack). A struct hit has a copy of
 * the pairs and of the results. For a deep stack it has the inner pairs only, and shares the outer
 * ones with the kept stack, as long as that is unchanged there (frame.made). The pairs of the
 * frames that start a program or a thread are compared once (unwind/unwind.c). Programs repeat a
 * few stacks, so a thread has some hits, found by pc and sp. The lookup runs under the guard of
 * record/record.c, so no capture can be under way.
 */
#ifndef MT_UNWIND_FAST_H
#define MT_UNWIND_FAST_H

#include "base/compiler.h"
#include "base/state.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/cache.h"
#include "unwind/incremental.h"
#include "unwind/pairs_fast.h"

#include <string.h>

bool mt_unwind_pairs_hold(const struct pair *p, uint32_t n); /* any number, from the inside out */

MT_INLINE bool unwind_same_place(const struct hit *h, uintptr_t pc, uintptr_t sp)
{
	return likely(h->sp == sp && h->pc == pc);
}

/* 4 instructions a frame; 10 besides. `era`: mt_era itself, which is no stack's while a filter
 * is on, or mt_era_now(). */
MT_INLINE bool unwind_hits(const struct hit *h, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			   uint32_t era)
{
	return unwind_same_place(h, pc, sp) && likely(h->era == era) && unwind_words_hold(h, fp);
}

/* The outer part of a deep stack: is the kept stack unchanged there, and does it still hold? */
MT_INLINE bool unwind_outer_holds(const struct unwind_cache *u, const struct hit *h)
{
	return u->count > h->outer && u->frames[h->outer].made == h->made &&
	       mt_unwind_pairs_hold(u->pairs, u->frames[h->outer].pairs);
}

/* The ways of a stack's set: the places of hits, in bytes; ended by 0 unless all are taken. */
MT_INLINE uint32_t *unwind_ways(const struct thread *t, uintptr_t pc, uintptr_t sp)
{
	uint32_t(*ways)[HIT_WAYS] = (void *)t->hits;

	_Static_assert(HIT_SETS * sizeof(*ways) <= HIT_FIRST * sizeof(struct hit), "the table");
	return ways[((pc ^ sp) * 0x9e3779b97f4a7c15u >> 32) % HIT_SETS];
}

MT_INLINE struct hit *unwind_hit(const struct thread *t, uint32_t way)
{
	return (struct hit *)((char *)t->hits + way);
}

/* The hit that a new stack takes: a fresh one, or each of its set in turn. */
MT_INLINE struct hit *unwind_hit_place(struct thread *t, uintptr_t pc, uintptr_t sp)
{
	uint32_t *way = unwind_ways(t, pc, sp), i = 0;

	while (i < HIT_WAYS && way[i])
		i++;
	/* a handler that never returns here makes two ways to one hit, never too many hits */
	if (i < HIT_WAYS) {
		way[i] = (uint32_t)((HIT_FIRST + t->hit_count) * sizeof(struct hit));
		atomic_signal_fence(memory_order_release);
		t->hit_count++;
	} else {
		i = t->turn % HIT_WAYS;
	}
	t->turn++;
	return unwind_hit(t, way[i]);
}

MT_INLINE bool unwind_deep_holds(const struct thread *t, const struct hit *h, uintptr_t fp)
{
	return (!h->needs_fp || h->fp == fp) && mt_unwind_pairs_hold(h->own, h->count) &&
	       unwind_outer_holds(t->unwind, h);
}

/* NULL: not a recent stack. The hit's era may be over, but nothing that its stack depends on has
 * changed. */
MT_INLINE struct hit *unwind_recent(const struct thread *t, uintptr_t pc, uintptr_t sp,
				    uintptr_t fp)
{
	uint32_t suspicion = atomic_load_explicit(&mt_maps_suspicion, memory_order_relaxed);
	const uint32_t *way = unwind_ways(t, pc, sp), *end = way + HIT_WAYS;

	for (; way < end && *way; way++) {
		struct hit *h = unwind_hit(t, *way);
		if (unwind_same_place(h, pc, sp) && likely(h->suspicion == suspicion) &&
		    (h->few == HIT_DEEP ? unwind_deep_holds(t, h, fp) : unwind_words_hold(h, fp)))
			return h;
	}
	return NULL;
}

/* How many of the kept stack's outermost pairs hold as long as the frames inside of them are there:
 * sets u->lasting. A hit needs no copy of these. */
void mt_unwind_lasting(struct unwind_cache *u);
MT_INLINE void unwind_settle_lasting(struct unwind_cache *u)
{
	const struct frame *f = u->frames;

	if (unlikely(u->count < 4))
		u->lasting = u->lasting_made = 0;
	else if (unlikely(f[2].made != u->lasting_made || f[3].at.pc != u->lasting_pc))
		mt_unwind_lasting(u);
}

/* Number of inner frames of a deep stack that a hit keeps itself. */
#define HIT_FRAMES 14u

/* Number of the kept stack's pairs that a hit would have to copy: all but the lasting ones, or
 * those of a deep stack's inner frames. */
MT_INLINE uint32_t unwind_inner(const struct unwind_cache *u)
{
	uint32_t all = u->frames[u->count - 1].pairs, pairs = all - u->lasting;

	/* few frames of three pairs each */
	if (pairs <= HIT_PAIRS || unlikely(u->count <= HIT_FRAMES))
		return pairs;
	return all - u->frames[u->count - 1 - HIT_FRAMES].pairs;
}

/* After a capture: may the stack be remembered? Not if the pairs alone do not prove it: a truncated
 * stack is counted each time, a foreign one may be unmapped, and the loader's allocations announce
 * loads. */
MT_INLINE bool unwind_is_plain(struct unwind_cache *u, const struct regs *r)
{
	if (unlikely(!u || !u->count || u->base || u->known.foreign || u->known.spilled ||
		     r->pc - mt_maps_loader_start < mt_maps_loader_bytes))
		return false;
	unwind_settle_lasting(u);
	const struct frame *top = &u->frames[u->count - 1];
	return likely(top->at.sp == r->sp && top->at.pc == r->pc) &&
	       likely(unwind_inner(u) <= HIT_PAIRS);
}

/* Copies the stack just captured into `h`. */
MT_INLINE void unwind_remember(const struct unwind_cache *u, struct hit *h)
{
	const struct frame *top = &u->frames[u->count - 1];
	uint32_t inner = unwind_inner(u);

	h->count = h->few = (uint16_t)inner;
	if (unlikely(inner + u->lasting != top->pairs)) {
		h->few = HIT_DEEP;
		h->outer = u->count - 1 - HIT_FRAMES;
		h->made = u->frames[h->outer].made;
	}
	memcpy(h->own, u->pairs + (top->pairs - inner), inner * sizeof(*h->own));
	h->pc = top->at.pc;
	h->fp = top->at.bp;
	unwind_begin_at(h, top->at.call.shape & FRAME_BP_USED);
	h->suspicion = u->suspicion;
	atomic_signal_fence(memory_order_release);
	h->sp = top->at.sp;
}

#endif
