/* SPDX-License-Identifier: MIT
 *
 * incremental.c - captures that walk only new frames.
 *
 * A frame is (pc, sp, bp); the engine's rule for its pc leads to its caller's. The thread's last
 * stack is kept, outermost first. A new stack is walked by rule from the inside, and kept frames
 * further in than the walk are dropped. Where the walk reaches a kept frame (same pc, same sp, same
 * bp if that matters further out), the rest of the kept stack holds if and only if every word that
 * the walk would read from there on still has its value. These words with their values are the
 * pairs. If all are equal, the kept node is the result for that part. Otherwise the frames inside
 * of the first difference keep their shape, the frame whose caller changed is left by rule again,
 * and the walk goes on; it may meet the kept stack once more further out.
 *
 * Why this is exact: frame i's caller is a function of (pc, sp, bp) and of the words read, and
 * these are compared. bp matters where a rule computes from it, or leaves it alone and it matters
 * to the caller (FRAME_BP_USED, found outermost first). Where it does not matter, the kept bp may
 * be old, so after a difference it is read again where it is saved. An over-aligned frame's CFA is
 * read from memory: that word is a pair, too. Frames that need other registers never match: their
 * pair always differs.
 *
 * Why it is safe: pairs are compared from the inside out, and the first difference ends the
 * comparison, so it reads no word that a walk by rule would not read.
 *
 * The kept stack hangs below the root, or below the truncation `base`. A depth limit cuts the outer
 * end, so a cut stack is renumbered whenever its depth changes.
 *
 * cfi's rules come from unwind tables. fp's rules follow the frame record; on AArch64, where the
 * CFA is unknown, the record's end stands for it. caller's rule ends at once. On AArch64 the return
 * address is always the word above the saved frame pointer. A frame without both has no packed
 * rule, nor has a signal's frame; a stack with the latter is taken as a list that is not kept.
 *
 * The way of every capture is one function, mt_unwind_capture(): compilers then keep its values in
 * registers. Whether it may begin at all, and other engines, are unwind/unwind.c's.
 */
#include "unwind/incremental.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "modules/maps.h"
#include "unwind/fast.h"
#include "unwind/fold.h"
#include "unwind/leave.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>
#include <string.h>

/* The word at `at`, and its value. */
MT_INLINE struct pair pair_at(uintptr_t at, uintptr_t is)
{
	return (struct pair){ is, at + WORD };
}

/* Of the kept stack's pairs up to `end`, those that hold are behind the result. Before the first
 * one lies one that never does (unwind/cache.c). */
MT_INLINE const struct pair *holding(const struct pair *end)
{
	for (;; end -= 4) {
		if (!pair_holds(&end[-1]))
			return end;
		if (!pair_holds(&end[-2]))
			return end - 1;
		if (!pair_holds(&end[-3]))
			return end - 2;
		if (!pair_holds(&end[-4]))
			return end - 3;
	}
}

bool mt_unwind_pairs_hold(const struct pair *p, uint32_t n)
{
	const struct pair *end = p + n;

	for (; end - p >= 4; end -= 4)
		if (!pair_holds(&end[-1]) || !pair_holds(&end[-2]) || !pair_holds(&end[-3]) ||
		    !pair_holds(&end[-4]))
			return false;
	while (end > p && pair_holds(&end[-1]))
		end--;
	return end == p;
}

/* Leaves `f` for its caller *to: by call, its CFA from a register, bp left alone or saved in the
 * frame. */
MT_INLINE bool leave_fast(struct unwind_cache *u, struct step *f, uint64_t rule,
			  struct frame_state *to)
{
	uintptr_t cfa = (rule & RULE_BP ? f->bp : f->sp) + (uintptr_t)rule_cfa(rule);

	if (unlikely(rule & (RULE_KIND | RULE_WORD)) || unlikely(cfa <= f->sp) ||
	    (!BY_RECORDS && unlikely(!is_word(u, cfa - WORD))))
		return false;
	to->bp = f->bp;
	if (rule & RULE_SAVED) {
		uintptr_t at = cfa + (uintptr_t)rule_bp(rule);
		/* the CFA may lie on another stack, at its very end */
		if (unlikely(at < f->sp || !is_word(u, at)))
			return false;
		f->bp_at = at;
		to->bp = word_at(at);
	}
	if (BY_RECORDS && unlikely(!is_word(u, return_at(f, cfa))))
		return false;
	to->pc = word_at(return_at(f, cfa));
	to->sp = cfa;
	return true;
}

/* Where plain steps must end from `sp` on: with its stack. 0: none may begin there. */
MT_INLINE uintptr_t plain_end(const struct unwind_cache *u, uintptr_t sp)
{
	const struct bounds *b = &u->known.at[0];

	return likely(sp > b->lo && sp <= b->hi && !(sp & (WORD - 1))) ? b->hi : 0;
}

/* A caller's pc as most are: no mark, and not 0 without what pc_code() strips. */
MT_INLINE bool is_usual(uintptr_t pc)
{
	return (intptr_t)pc > 0 && (pc_code(UINTPTR_MAX) == UINTPTR_MAX || pc_code(pc));
}

/* Leaves *at by a plain rule (no FRAME_BY_RULE): one comparison proves all that it reads. */
MT_INLINE bool leave_plain(const struct call *call, struct frame_state *at, uintptr_t end)
{
	uintptr_t from = at->sp;

	if (call->shape & (FRAME_BY_RULE | FRAME_USES_BP)) {
		from = at->bp;
		if (unlikely(call->shape & FRAME_BY_RULE || from < at->sp || from > end ||
			     from & (WORD - 1)))
			return false;
	}
	uintptr_t cfa = from + call->cfa * WORD;
	if (unlikely(cfa > end))
		return false;
	if (call->shape & FRAME_SAVED)
		at->bp = word_at(plain_bp_at(call, cfa));
	at->pc = word_at(BY_RECORDS ? plain_bp_at(call, cfa) + WORD : cfa - WORD);
	at->sp = cfa;
	return likely(is_usual(at->pc));
}

/* ... by any other rule, or to a caller that is no usual one. */
static __attribute__((noinline)) enum left leave_other(struct walk *w, struct step *f,
						       struct frame_state *at)
{
	uint64_t rule = mt_unwind_rule_of(pc_code(f->pc), f->call.code);

	*at = (struct frame_state){ f->pc, f->sp, f->bp };
	w->base = MTW_TRUNC_NONE;
	w->zero_at = 0;
	if (unlikely(!leave_fast(w->u, f, rule, at))) {
		enum left left = mt_unwind_leave_rare(w, f, rule, at);
		if (left != LEFT_ON)
			return left;
	}
	return likely(is_usual(at->pc)) ? LEFT_ON : mt_unwind_leave_last(w, f, at);
}

/* Kept frames from..to+1 keep their shape and count as new; *at becomes frame `to`. */
static bool take_shapes(struct walk *w, const struct frame *from, const struct frame *to,
			struct frame_state *at)
{
	uintptr_t bp = at->bp;

	for (const struct frame *k = from; k > to; k--) {
		if (w->next == w->full) {
			w->base = MTW_TRUNC_DEPTH;
			w->zero_at = 0;
			return false;
		}
		struct step *f = &(--w->next)->at;
		*f = k->at;
		f->bp = bp;
		if (f->call.shape & FRAME_SAVED)
			bp = word_at(step_bp_at(f, k[-1].at.sp));
	}
	*at = (struct frame_state){ to->at.pc, to->at.sp, bp };
	return true;
}

/* Which kept frame, from `k` outwards, made the last of so many pairs. */
static const struct frame *owner_of(const struct frame *kept, const struct frame *k, uint32_t pairs)
{
	while (k > kept && k[-1].pairs >= pairs)
		k--;
	return k;
}

/* The walk is at the kept frame k, and of the pairs from there on `pairs` do not hold; or the limit
 * cuts more off than before. *at becomes the last frame that is as it was: the result, whose caller
 * must be found again. NULL: the limit was met. */
static __attribute__((noinline)) const struct frame *meet_partly(struct walk *w,
								 const struct frame *k,
								 uint32_t pairs,
								 struct frame_state *at)
{
	const struct frame *kept = w->u->frames, *to = pairs ? owner_of(kept, k, pairs) : kept;

	return take_shapes(w, k, to, at) ? to : NULL;
}

/* Is the kept frame k where the walk is? */
MT_INLINE bool is_at(const struct frame *k, const struct frame_state *at)
{
	return k->at.sp == at->sp && k->at.pc == at->pc &&
	       (k->at.bp == at->bp || !(k->at.call.shape & FRAME_BP_USED));
}

/*
 * Walks until the stack ends, or until a kept frame is met from which outwards everything holds.
 * Returns the place inside of it, or of no frame. Before the outermost kept frame lies one whose sp
 * is above all (unwind/cache.c). Plain steps may go up to `end`.
 */
static struct frame *walk(struct walk *w, struct frame_state at, uintptr_t end)
{
	struct unwind_cache *u = w->u;
	const struct frame *k = u->frames + u->count;
	struct frame *f = w->next, *const full = w->full;
	struct frame_state place;

	for (;;) {
		while (k[-1].at.sp < at.sp)
			k--;
		if (is_at(&k[-1], &at)) {
			const struct pair *first = u->pairs, *last = first + (--k)->pairs;
			/* else its caller must be found again, as most often */
			if (pair_holds(&last[-1]) || last == first) {
				const struct pair *p = holding(last);
				w->next = f;
				if (likely(p == first) && (likely(u->base != MTW_TRUNC_DEPTH) ||
							   k - u->frames + 1 >= f - full))
					return (struct frame *)k + 1;
				place = at;
				k = meet_partly(w, k, (uint32_t)(p - first), &place);
				if (!k)
					return u->frames;
				f = w->next;
				at = place;
			}
		}
		if (unlikely(f == full)) {
			w->base = MTW_TRUNC_DEPTH;
			w->zero_at = 0;
			break;
		}
		const struct call *call = unwind_pc(u, pc_code(at.pc));
		f[-1].at.pc = at.pc;
		f[-1].at.sp = at.sp;
		f[-1].at.bp = at.bp;
		f[-1].at.call = *call;
		f--;
		if (likely(leave_plain(call, &at, end)))
			continue;
		w->next = f;
		if (unlikely(leave_other(w, &f->at, &place) != LEFT_ON))
			break;
		at = place;
		end = plain_end(u, at.sp);
	}
	w->next = f;
	return u->frames;
}

/* The outermost frame: only the reason that ended the walk must hold. */
static MT_COLD struct pair *pairs_of_last(const struct unwind_cache *u, const struct frame *f,
					  struct pair *p)
{
	if (u->zero_at) {
		*p++ = pair_at(u->zero_at, 0);
		if (f->at.call.shape & FRAME_WORD)
			*p++ = pair_at(f->at.word, u->zero_at + WORD);
	}
	if (f->at.call.shape & FRAME_SLOW)
		*p++ = unwind_never();
	return p;
}

/* Left otherwise than by a call with its CFA from a register. The word that is read first goes
 * last. */
static MT_COLD struct pair *pairs_of_odd(const struct frame *f, bool outer_bp, struct pair *p)
{
	const struct step *outer = &f[-1].at;

	if (f->at.call.shape & FRAME_SLOW) {
		*p++ = unwind_never();
		return p;
	}
	bool signal = f->at.call.shape & FRAME_SIGNAL;
	*p++ = pair_at(signal ? f->at.sp + UC_PC : return_at(&f->at, outer->sp),
		       pc_bare(outer->pc));
	if (outer_bp && f->at.call.shape & FRAME_SAVED)
		*p++ = pair_at(step_bp_at(&f->at, outer->sp), outer->bp);
	if (signal)
		*p++ = pair_at(f->at.sp + UC_SP, outer->sp);
	else
		*p++ = pair_at(f->at.word, outer->sp);
	return p;
}

/* The frames f..end lead from `node` to where no path has been: makes the nodes for all of them,
 * each the only child of the one before, and returns the first; or the node of another thread that
 * was here just now; or NO_NODE, because there is no room for whole stacks. */
static node_id branch_off(struct unwind_cache *u, node_id node, const struct frame *f,
			  const struct frame *end)
{
	bool folds = unwind_folds_recursion(); /* then each further step may lead back */
	uint32_t n = 0;

	for (const struct frame *at = f; at < end && !(n && folds); at++)
		if (!(at->at.call.shape & FRAME_OWN)) {
			if (unlikely(!at->at.call.code))
				return NO_NODE;
			n++;
		}
	node_id first = mt_stacks_reserve(n, NEED_WHOLE);
	if (unlikely(!first))
		return NO_NODE;
	u->effort.edge_misses += n;
	for (node_id id = first, last = first + n - 1; id <= last; f++)
		if (!(f->at.call.shape & FRAME_OWN)) {
			stacks_fill(id, node, f->at.call.code, id < last ? id + 1 : 0);
			node = id++;
		}
	return mt_stacks_enter(first);
}

/* The node of `f` below `node`, by an edge that is not cached. */
static MT_COLD node_id extend(struct unwind_cache *u, node_id node, const struct frame *f,
			      const struct frame *end)
{
	if (unlikely(node == NO_NODE))
		return NO_NODE;
	node_id child = mt_unwind_edge_slow(u, node, f->at.call.code);
	return likely(child) ? child : branch_off(u, node, f, end);
}

/* The node of `f` below `node`; f..end are the frames that are still to come. NO_NODE: there is no
 * room for it, or was none for `node`. */
MT_INLINE node_id follow(struct unwind_cache *u, node_id node, const struct frame *f,
			 const struct frame *end)
{
	node_id child;

	return likely(unwind_edge_known(u, node, f->at.call.code, &child))
		       ? child
		       : extend(u, node, f, end);
}

/* What the outermost kept frame hangs below. */
static node_id base_node(const struct unwind_cache *u)
{
	return u->base ? mt_stacks_truncated(u->base) : 0;
}

/* The first pair of a frame that was left by a call: where it returns. */
MT_INLINE void pair_of_return(struct pair *p, const struct frame *f, const struct frame *outer)
{
	if (BY_RECORDS) {
		*p = (struct pair){ outer->at.pc, return_at(&f->at, outer->at.sp) + WORD };
		return;
	}
	_Static_assert(offsetof(struct step, pc) == offsetof(struct pair, is) &&
			       offsetof(struct step, sp) == offsetof(struct pair, end),
		       "it returns by the word that ends where its caller's frame begins");
	memcpy(p, &outer->at, sizeof(*p));
}

/* A frame of the kept stack: its pairs, and whether its bp matters. */
static struct pair *pairs_of(const struct unwind_cache *u, struct frame *f, struct pair *p)
{
	uint32_t shape = f->at.call.shape;
	bool bp = f != u->frames && f[-1].at.call.shape & FRAME_BP_USED;

	if (unlikely(f == u->frames)) {
		p = pairs_of_last(u, f, p);
	} else if (unlikely(shape & (FRAME_SIGNAL | FRAME_SLOW | FRAME_WORD))) {
		p = pairs_of_odd(f, bp, p);
	} else {
		pair_of_return(p++, f, &f[-1]);
		if (bp && shape & FRAME_SAVED)
			*p++ = pair_at(step_bp_at(&f->at, f[-1].at.sp), f[-1].at.bp);
	}
	bp = shape & FRAME_USES_BP || (bp && !(shape & FRAME_SAVED));
	f->at.call.shape = bp ? shape | FRAME_BP_USED : shape & ~FRAME_BP_USED;
	return p;
}

/* The shape of most frames inside of f, but for FRAME_SAVED: they were left by a plain rule for sp,
 * and no bp matters. So each has one pair, where it returns. */
MT_INLINE uint32_t common_inside(const struct frame *f)
{
	return (f->at.call.shape & FRAME_BP_USED) * (FRAME_ODD / FRAME_BP_USED);
}

/* Stores the new frames s..end from `f` on, with their nodes and pairs. Returns the innermost one's
 * node. NO_NODE, as of all frames from where there is no room for whole stacks: the frames stay
 * kept, so that the stack can be remembered. */
MT_INLINE node_id number(struct unwind_cache *u, struct frame *f, const struct frame *s,
			 const struct frame *end)
{
	bool whole = f == u->frames;
	uint32_t pairs = whole ? 0 : f[-1].pairs,
		 common = whole ? FRAME_ODD : common_inside(&f[-1]);
	struct pair *p = u->pairs + pairs;
	uint64_t made = u->passes;
	node_id node = whole ? base_node(u) : f[-1].node;

	for (; s < end; s++, f++) {
		f->made = made;
		if (likely((s->at.call.shape & ~FRAME_SAVED) == common)) {
			memcpy(&f->at, &s->at, STEP_PLAIN);
			pair_of_return(p, f, &f[-1]);
			node = follow(u, node, s, end);
			p++;
			pairs++;
		} else {
			f->at = s->at;
			p = pairs_of(u, f, p);
			pairs = (uint32_t)(p - u->pairs);
			common = common_inside(f);
			if (!(s->at.call.shape & FRAME_OWN))
				node = likely(s->at.call.code) ? follow(u, node, s, end) : NO_NODE;
		}
		f->pairs = pairs;
		f->node = node;
	}
	return node;
}

/* The stack is new from its outer end on, or the limit cuts some frames off there: the `same`
 * frames that still hold become new, too. */
static __attribute__((noinline)) struct frame *settle_base(struct walk *w, const struct frame *same,
							   bool cut)
{
	struct unwind_cache *u = w->u;

	u->effort.whole += same == u->frames;
	u->base = cut ? MTW_TRUNC_DEPTH : w->base;
	u->zero_at = cut ? 0 : w->zero_at;
	/* as many as fit: the walk itself stops at the limit */
	while (same > u->frames && w->next > w->full)
		(--w->next)->at = (--same)->at;
	return u->frames;
}

/* There is no room for the whole kept stack. Once there is some again, the stack is dropped, and
 * the next capture walks anew. */
static MT_COLD node_id fold_kept(struct unwind_cache *u)
{
	struct inner inner = { .n = 0 };
	uint32_t i = u->count;

	while (i > 0 && (u->frames[i - 1].at.call.shape & FRAME_OWN ||
			 fold_takes(&inner, u->frames[i - 1].at.call.code)))
		i--;
	if (mt_arena_has(NEED_WHOLE))
		u->count = 0;
	return mt_unwind_fold(u, &inner, i ? NO_NODE : base_node(u));
}

/* Captures by the kept stack. */
MT_INLINE node_id capture_kept(struct unwind_cache *u, const struct regs *r)
{
	node_id node;

	u->known.proven_sp = 0;
	u->known.entered = 0;
	if (unlikely(u->known.foreign || u->known.spilled) && !mt_unwind_renew(&u->known, r->sp))
		u->count = 0;
	uintptr_t stack_end = plain_end(u, r->sp);
	if (unlikely(!stack_end)) {
		if (!unwind_in(&u->known.at[0], r->sp - WORD) &&
		    !mt_unwind_enter(&u->known, r->sp, true))
			return mt_stacks_truncated(MTW_TRUNC_BAD_CFI);
		stack_end = plain_end(u, r->sp);
	}
	struct frame *end = u->fresh_end;
	struct walk w;
	w.u = u;
	w.r = r;
	w.next = end;
	w.full = end - u->depth;
	if (BY_RECORDS)
		w.listed = false;
	struct frame *from = walk(&w, (struct frame_state){ r->pc, r->sp, r->fp }, stack_end);
	if (BY_RECORDS && unlikely(w.listed)) {
		u->count = 0;
		return mt_unwind_list_capture(u, r);
	}
	u->effort.frames += (uint64_t)(end - w.next);
	if (unlikely(from == u->frames))
		settle_base(&w, from, false);
	else if (unlikely(w.next - w.full < from - u->frames))
		from = settle_base(&w, from, true);
	uint32_t same = (uint32_t)(from - u->frames), fresh = (uint32_t)(end - w.next);
	/* till all are there: record/record.c's hits look here */
	u->count = same;
	atomic_signal_fence(memory_order_release);
	node = number(u, from, w.next, end);
	atomic_signal_fence(memory_order_release);
	u->count = same + fresh;
	return likely(node != NO_NODE) ? node : fold_kept(u);
}

node_id mt_unwind_capture(struct thread *t, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);
	struct unwind_cache *u = t->unwind;
	node_id node;

	if (unlikely(!u || u->asked != depth ||
		     atomic_load_explicit(&u->xwalking, memory_order_relaxed))) {
		unsigned reason;
		u = mt_unwind_begin(t, r, &reason);
		if (!u)
			return mt_unwind_caller(r, reason);
	}
	atomic_store_explicit(&u->xwalking, r->sp, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	uint64_t pass = ++u->passes;
	/* The loader allocates before it maps anything, so a replaced object is already gone. */
	if (unlikely(r->pc - mt_maps_loader_start < mt_maps_loader_bytes))
		mt_maps_invalidate();
	if (unlikely(u->suspicion !=
			     atomic_load_explicit(&mt_maps_suspicion, memory_order_relaxed) ||
		     u->generation != atomic_load_explicit(&mt_maps_changes, memory_order_relaxed)))
		mt_unwind_cache_settle(u);
	node = likely(mt_unwind_keeps) ? capture_kept(u, r) : mt_unwind_list_capture(u, r);
	if (unlikely(u->passes != pass)) {
		u->count = 0;
		node = mt_unwind_caller(r, MTW_TRUNC_REENTRY);
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&u->xwalking, 0, memory_order_relaxed);
	return node;
}
