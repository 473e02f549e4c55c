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
 * be old, so after a difference it is read again through the slots. An over-aligned frame's CFA is
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
 */
#include "unwind/incremental.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "unwind/fast.h"
#include "unwind/fold.h"
#include "unwind/leave.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>

/* A word that is never what its pair says. */
static const uintptr_t never = 0;

/* The innermost of the first `count` pairs that differs, as an index, or -1. */
MT_INLINE int32_t differing(const struct pair *pairs, uint32_t count)
{
	const struct pair *p = pairs + count;

	for (; p - pairs >= 4; p -= 4) {
		if (!pair_holds(&p[-1]))
			return (int32_t)(p - pairs) - 1;
		if (!pair_holds(&p[-2]))
			return (int32_t)(p - pairs) - 2;
		if (!pair_holds(&p[-3]))
			return (int32_t)(p - pairs) - 3;
		if (!pair_holds(&p[-4]))
			return (int32_t)(p - pairs) - 4;
	}
	while (p > pairs && pair_holds(&p[-1]))
		p--;
	return (int32_t)(p - pairs) - 1;
}

bool mt_unwind_pairs_hold(const struct pair *p, uint32_t n)
{
	return differing(p, n) < 0;
}

/* Leaves `f` for its caller *to: by call, its CFA from a register, bp left alone or saved in the
 * frame. */
MT_INLINE bool leave_fast(struct unwind_cache *u, struct step *f, uint64_t rule, struct place *to)
{
	uintptr_t cfa = (rule & RULE_BP ? f->bp : f->sp) + (uintptr_t)rule_cfa(rule);

	if (unlikely(rule & (RULE_KIND | RULE_WORD)) || unlikely(cfa <= f->sp) ||
	    (!BY_RECORDS && unlikely(!is_word(u, cfa - WORD))))
		return false;
	to->bp = f->bp;
	if (rule & RULE_SAVED) {
		uintptr_t slot = cfa + (uintptr_t)rule_bp(rule);
		/* the CFA may lie on another stack, at its very end */
		if (unlikely(slot < f->sp || !is_word(u, slot)))
			return false;
		f->bp_slot = slot;
		to->bp = word_at(slot);
	}
	if (BY_RECORDS && unlikely(!is_word(u, RETURN_AT(f, cfa))))
		return false;
	to->pc = word_at(RETURN_AT(f, cfa));
	to->sp = cfa;
	return true;
}

/* Where plain steps must end from `sp` on: with its stack. 0: none may begin there. */
MT_INLINE uintptr_t plain_end(const struct unwind_cache *u, uintptr_t sp)
{
	const struct bounds *b = &u->known.at[0];

	return likely(sp > b->lo && sp <= b->hi && !(sp & (WORD - 1))) ? b->hi : 0;
}

/* Leaves `f` by a plain rule (FRAME_PLAIN): one comparison proves all that it reads. */
MT_INLINE bool leave_plain(struct step *f, const struct call *call, struct place *at, uintptr_t end)
{
	uintptr_t from = at->sp;

	if (unlikely(!(call->shape & FRAME_PLAIN)))
		return false;
	if (call->shape & FRAME_USES_BP) {
		from = at->bp;
		if (unlikely(from < at->sp || from & (WORD - 1)))
			return false;
	}
	uintptr_t cfa = from + call->cfa * WORD;
	if (unlikely(cfa > end))
		return false;
	if (call->shape & FRAME_SAVED) {
		f->bp_slot = cfa - call->bp * WORD;
		at->bp = word_at(f->bp_slot);
	}
	at->pc = word_at(RETURN_AT(f, cfa));
	at->sp = cfa;
	return likely((intptr_t)at->pc > 0);
}

/* ... by any other rule, or to a caller that is no usual one. */
static __attribute__((noinline)) enum left leave_other(struct walk *w, struct step *f,
						       struct place *at)
{
	uint64_t rule = mt_unwind_rule_of(pc_code(f->pc), f->call.code);

	*at = (struct place){ f->pc, f->sp, f->bp };
	if (unlikely(!leave_fast(w->u, f, rule, at))) {
		enum left left = mt_unwind_leave_rare(w, f, rule, at);
		if (left != LEFT_ON)
			return left;
	}
	return likely((intptr_t)at->pc > 0) ? LEFT_ON : mt_unwind_leave_last(w, f, at);
}

/* Kept frames from..to+1 keep their shape and count as new; *at becomes frame `to`. */
static bool take_shapes(struct walk *w, int32_t from, int32_t to, struct place *at)
{
	const struct frame *kept = w->u->frames;
	uintptr_t bp = at->bp;

	for (int32_t i = from; i > to; i--) {
		if (w->next == w->full) {
			w->base = MTW_TRUNC_DEPTH;
			return false;
		}
		struct step *f = --w->next;
		*f = kept[i].at;
		f->bp = bp;
		if (f->call.shape & FRAME_SAVED)
			bp = word_at(f->bp_slot);
	}
	*at = (struct place){ kept[to].at.pc, kept[to].at.sp, bp };
	return true;
}

/* Which kept frame, from `i` outwards, made the pair. */
static int32_t owner_of(const struct frame *kept, int32_t i, int32_t pair)
{
	while (i > 0 && (int32_t)kept[i - 1].pairs > pair)
		i--;
	return i;
}

/* The walk is at the kept frame i: do it and all further out hold? Otherwise *at becomes the last
 * one that does, *to is its index, and its caller must be found again; -1 when the limit was met.
 */
static bool meets(struct walk *w, int32_t i, struct place *at, int32_t *to)
{
	struct unwind_cache *u = w->u;
	const struct frame *kept = u->frames;
	int32_t pair = differing(u->pairs, kept[i].pairs);
	bool cut = u->base == MTW_TRUNC_DEPTH && i + 1 < w->next - w->full;

	*to = pair < 0 ? 0 : owner_of(kept, i, pair);
	if (pair < 0 && !cut)
		return true;
	if (!take_shapes(w, i, *to, at))
		*to = -1;
	return false;
}

/* Is the kept frame k where the walk is? */
MT_INLINE bool is_at(const struct frame *k, const struct place *at)
{
	return k->at.sp == at->sp && k->at.pc == at->pc &&
	       (k->at.bp == at->bp || !(k->at.call.shape & FRAME_BP_USED));
}

/* Must the kept frame's caller be found again? The first comparison that meets() would make, which
 * mostly decides. */
MT_INLINE bool left_elsewhere(const struct unwind_cache *u, const struct frame *k)
{
	return k->pairs && !pair_holds(&u->pairs[k->pairs - 1]);
}

/*
 * Walks until the stack ends (returns -1) or until a kept frame is met below which everything
 * holds (returns its index). Before the outermost kept frame lies one whose sp is above all
 * (unwind/cache.c). Plain steps may go up to `end`.
 */
static int32_t walk(struct walk *w, struct place at, uintptr_t end)
{
	struct unwind_cache *u = w->u;
	const struct frame *kept = u->frames, *k = kept + u->count;
	struct place place;

	for (struct step *f;; w->next = f) {
		while (k[-1].at.sp < at.sp)
			k--;
		if (is_at(&k[-1], &at) && !left_elsewhere(u, --k)) {
			int32_t i = (int32_t)(k - kept), to;
			place = at;
			if (meets(w, i, &place, &to))
				return i;
			if (to < 0)
				return -1;
			k = kept + to;
			at = place;
		}
		if (unlikely(w->next == w->full)) {
			w->base = MTW_TRUNC_DEPTH;
			return -1;
		}
		f = w->next - 1;
		const struct call *call = unwind_pc(u, pc_code(at.pc));
		f->pc = at.pc;
		f->sp = at.sp;
		f->bp = at.bp;
		f->call = *call;
		if (likely(leave_plain(f, call, &at, end)))
			continue;
		w->next = f;
		if (unlikely(leave_other(w, f, &place) != LEFT_ON))
			return -1;
		at = place;
		end = plain_end(u, at.sp);
	}
}

/* The outermost frame: only the reason that ended the walk must hold. */
static MT_COLD struct pair *pairs_of_last(const struct unwind_cache *u, const struct frame *f,
					  struct pair *p)
{
	if (u->zero_at) {
		*p++ = (struct pair){ u->zero_at, 0 };
		if (f->at.call.shape & FRAME_WORD)
			*p++ = (struct pair){ f->at.word, u->zero_at + WORD };
	}
	if (f->at.call.shape & FRAME_SLOW)
		*p++ = (struct pair){ (uintptr_t)&never, 1 };
	return p;
}

/* Left otherwise than by a call with its CFA from a register. The word that is read first goes
 * last. */
static MT_COLD struct pair *pairs_of_odd(const struct frame *f, bool outer_bp, struct pair *p)
{
	const struct step *outer = &f[-1].at;

	if (f->at.call.shape & FRAME_SLOW) {
		*p++ = (struct pair){ (uintptr_t)&never, 1 };
		return p;
	}
	bool signal = f->at.call.shape & FRAME_SIGNAL;
	*p++ = (struct pair){ signal ? f->at.sp + UC_PC : RETURN_AT(&f->at, outer->sp),
			      pc_bare(outer->pc) };
	if (outer_bp && f->at.call.shape & FRAME_SAVED)
		*p++ = (struct pair){ f->at.bp_slot, outer->bp };
	if (signal)
		*p++ = (struct pair){ f->at.sp + UC_SP, outer->sp };
	else
		*p++ = (struct pair){ f->at.word, outer->sp };
	return p;
}

/* A path of nodes that grows inwards. */
struct path {
	node_id node;    /* the innermost so far; NO_NODE: there was no room for it */
	node_id next;    /* its child, where that was made with it, else 0 */
	struct node *at; /* `node` itself, where its child must be looked for */
};

/* Stands for NO_NODE: it has no children. */
static struct node nowhere;

static struct path path_at(node_id node)
{
	return (struct path){ node, 0, likely(node != NO_NODE) ? stacks_node(node) : &nowhere };
}

/* The steps s..end lead from `node` to where no path has been: makes the nodes for all of them. The
 * path then stands at the first, and the others' numbers are in a row; or at the node of another
 * thread that was here just now; or nowhere, because there is no room for whole stacks. */
static struct path branch_off(struct unwind_cache *u, node_id node, const struct step *s,
			      const struct step *end)
{
	bool folds = unwind_folds_recursion(); /* then each further step may lead back */
	uint32_t n = 0;

	for (const struct step *at = s; at < end && !(n && folds); at++)
		if (!(at->call.shape & FRAME_OWN)) {
			if (unlikely(!at->call.code))
				return path_at(NO_NODE);
			n++;
		}
	node_id first = mt_stacks_reserve(n, NEED_WHOLE);
	if (unlikely(!first))
		return path_at(NO_NODE);
	u->effort.edge_misses += n;
	for (node_id id = first, last = first + n - 1; id <= last; s++)
		if (!(s->call.shape & FRAME_OWN)) {
			stacks_fill(id, node, s->call.code, id < last ? id + 1 : 0);
			node = id++;
		}
	struct path path = path_at(mt_stacks_enter(first));
	path.next = path.node == first && n > 1 ? first + 1 : 0;
	return path;
}

/* The path gets the node of `s`, which is not among the `listed` children of its last one. */
static __attribute__((noinline)) void extend(struct unwind_cache *u, struct path *path,
					     const struct step *s, const struct step *end,
					     uint32_t listed)
{
	node_id child = 0;

	if (unlikely(path->node == NO_NODE))
		return;
	if (unlikely(listed >= LISTED || unwind_folds_recursion()))
		child = mt_unwind_edge_slow(u, path->node, s->call.code, listed);
	*path = child ? path_at(child) : branch_off(u, path->node, s, end);
}

/* The path with the node of `s`, the first of the steps s..end that are still to come. */
MT_INLINE struct path follow(struct unwind_cache *u, struct path path, const struct step *s,
			     const struct step *end)
{
	uint32_t listed;

	if (path.next) { /* in a row, to the last step */
		path.node = path.next++;
		return path;
	}
	node_id child =
		stacks_listed(path.at, node_step(path.node, s->call.code), &path.at, &listed);
	if (likely(child)) {
		path.node = child;
		return path;
	}
	struct path longer = path;
	extend(u, &longer, s, end, listed);
	return longer;
}

/* What the outermost kept frame hangs below. */
static node_id base_node(const struct unwind_cache *u)
{
	return u->base ? mt_stacks_truncated(u->base) : 0;
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
		*p++ = (struct pair){ RETURN_AT(&f->at, f[-1].at.sp), f[-1].at.pc };
		if (bp && shape & FRAME_SAVED)
			*p++ = (struct pair){ f->at.bp_slot, f[-1].at.bp };
	}
	bp = shape & FRAME_USES_BP || (bp && !(shape & FRAME_SAVED));
	f->at.call.shape = bp ? shape | FRAME_BP_USED : shape & ~FRAME_BP_USED;
	return p;
}

/* The shape of most frames inside of f, but for FRAME_SAVED: they were left by a plain rule for sp,
 * and no bp matters. So each has one pair, where it returns. */
MT_INLINE uint32_t common_inside(const struct frame *f)
{
	return f->at.call.shape & FRAME_BP_USED ? FRAME_ODD : FRAME_PLAIN;
}

/* Stores the new frames s..end inside of the first `from`, with their nodes and pairs. Returns the
 * innermost one's node. NO_NODE, as of all frames from where there is no room for whole stacks: the
 * frames stay kept, so that the stack can be remembered. */
static node_id number(struct unwind_cache *u, uint32_t from, const struct step *s,
		      const struct step *end)
{
	struct frame *f = u->frames + from;
	uint32_t pairs = from ? f[-1].pairs : 0, common = from ? common_inside(&f[-1]) : FRAME_ODD;
	struct pair *p = u->pairs + pairs;
	uint64_t made = u->passes;
	struct path path = path_at(from ? f[-1].node : base_node(u));

	for (; s < end; s++, f++) {
		f->at = *s;
		f->made = made;
		if (likely((s->call.shape & ~FRAME_SAVED) == common)) {
			*p++ = (struct pair){ RETURN_AT(s, f[-1].at.sp), f[-1].at.pc };
			pairs++;
			path = follow(u, path, s, end);
		} else {
			p = pairs_of(u, f, p);
			pairs = (uint32_t)(p - u->pairs);
			common = common_inside(f);
			if (!(s->call.shape & FRAME_OWN))
				path = follow(u, path, s, end);
		}
		f->pairs = pairs;
		f->node = path.node;
	}
	u->count = (uint32_t)(f - u->frames);
	return path.node;
}

/*
 * The walk's frames become the kept stack, inside of the `same` outermost that still hold. Returns
 * how many of those keep their place: none where the limit cuts some off at the outer end.
 */
static uint32_t settle_base(struct walk *w, uint32_t same, const struct step *end)
{
	struct unwind_cache *u = w->u;
	uint32_t count = (uint32_t)(end - w->next), total = same + count;
	uint32_t cut = total > w->depth ? total - w->depth : 0;

	u->effort.frames += count;
	u->effort.whole += same == 0;
	if (same == 0 || cut) {
		u->base = cut ? MTW_TRUNC_DEPTH : w->base;
		u->zero_at = cut ? 0 : w->zero_at;
	}
	if (!cut)
		return same;
	while (same > cut) /* cut <= same: the walk itself stops at the limit */
		*--w->next = u->frames[--same].at;
	return 0;
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

node_id mt_unwind_kept_capture(struct unwind_cache *u, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);
	node_id node;

	if (unlikely(depth > u->capacity))
		depth = u->capacity;
	if (unlikely(u->depth != depth))
		u->count = 0;
	u->depth = depth;
	u->known.proven_sp = 0;
	if (unlikely(u->known.foreign || u->known.spilled) && !mt_unwind_renew(&u->known, r->sp))
		u->count = 0;
	uintptr_t stack_end = plain_end(u, r->sp);
	if (unlikely(!stack_end)) {
		if (!unwind_in(&u->known.at[0], r->sp - WORD) &&
		    !mt_unwind_enter(&u->known, r->sp, true))
			return mt_stacks_truncated(MTW_TRUNC_BAD_CFI);
		stack_end = plain_end(u, r->sp);
	}
	struct step *end = u->steps_end;
	struct walk w = { .u = u, .r = r, .next = end, .full = end - depth, .depth = depth };
	int32_t met = walk(&w, (struct place){ r->pc, r->sp, r->fp }, stack_end);
	if (BY_RECORDS && unlikely(w.listed)) {
		u->count = 0;
		return mt_unwind_list_capture(u, r);
	}
	/* till all are there: record/record.c's hits look here */
	u->count = settle_base(&w, (uint32_t)(met + 1), end);
	atomic_signal_fence(memory_order_release);
	node = number(u, u->count, w.next, end);
	return likely(node != NO_NODE) ? node : fold_kept(u);
}
