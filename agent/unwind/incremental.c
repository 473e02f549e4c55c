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
#include "base/stack_bounds.h"
#include "cfi/cfi.h"
#include "unwind/cfi_step.h"
#include "unwind/ehabi.h"
#include "unwind/fast.h"
#include "unwind/fp_proof.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>
#include <string.h>

#define WORD sizeof(uintptr_t)

/* A word that is never what its pair says. */
static const uintptr_t never = 0;

struct walk {
	struct unwind_cache *u;
	const struct regs *r;
	/* the last new frame: they are put down from the end, so outermost first */
	struct step *next;
	struct step *full; /* ... where the limit is met */
	uint32_t depth;    /* the limit as a number */
	unsigned base;     /* why it ended: enum mtw_truncation */
	uintptr_t zero_at; /* where a return address of 0 ended it; 0 = it ended otherwise */
	bool listed;       /* its stack can be taken as a list only */
};

/* Where the frame at f, which ends at cfa, has its return address. */
#define RETURN_AT(f, cfa) (BY_RECORDS ? (f)->bp_slot + WORD : (cfa)-WORD)

/* Between two frames. */
struct place {
	uintptr_t pc, sp, bp;
};

enum left { LEFT_ON, LEFT_LAST, LEFT_BROKEN };

static uintptr_t word_at(uintptr_t addr)
{
	return *(const uintptr_t *)addr;
}

/* An address that a rule came to: a word that may be read? */
MT_INLINE bool is_word(struct unwind_cache *u, uintptr_t addr)
{
	if (unlikely(addr & (WORD - 1)))
		return false;
	return likely(unwind_word_in(&u->known.at[0], addr)) || mt_unwind_reach(&u->known, addr);
}

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

/* Whatever the common way does not cover: an over-aligned frame, a bp saved at an odd place. */
static MT_COLD enum left leave_odd(struct unwind_cache *u, struct step *f, uint64_t rule,
				   struct place *to)
{
	uintptr_t cfa, slot;

	if ((rule & RULE_BASE) == RULE_SP) {
		cfa = f->sp + (uintptr_t)rule_cfa(rule);
	} else if ((rule & RULE_BASE) == RULE_BP) {
		cfa = f->bp + (uintptr_t)rule_cfa(rule);
	} else {
		f->word = f->bp + (uintptr_t)rule_cfa(rule);
		if (!is_word(u, f->word))
			return LEFT_BROKEN;
		cfa = word_at(f->word);
	}
	if (rule & RULE_RECORD && f->bp < f->sp)
		return f->bp ? LEFT_BROKEN : LEFT_LAST;
	if (cfa <= f->sp)
		return LEFT_BROKEN;
	to->bp = f->bp;
	if (rule & RULE_SAVED) {
		slot = (uintptr_t)rule_bp(rule) + ((rule & RULE_BASE) == RULE_WORD ? f->bp : cfa);
		if (!is_word(u, slot))
			return LEFT_BROKEN;
		f->bp_slot = slot;
		to->bp = word_at(slot);
	}
	if (!is_word(u, RETURN_AT(f, cfa)))
		return LEFT_BROKEN;
	to->pc = pc_bare(word_at(RETURN_AT(f, cfa)));
	to->sp = cfa;
	return LEFT_ON;
}

static MT_COLD enum left leave_signal(struct unwind_cache *u, struct step *f, struct place *to)
{
	uintptr_t context = f->sp;

	if ((context & (WORD - 1)) || !unwind_readable(&u->known, context + UC_BP) ||
	    !unwind_readable(&u->known, context + UC_PC))
		return LEFT_BROKEN;
	f->bp_slot = context + UC_BP;
	to->bp = word_at(context + UC_BP);
	to->sp = word_at(context + UC_SP);
	to->pc = word_at(context + UC_PC) | PC_EXACT;
	return mt_unwind_enter(&u->known, to->sp, false) ? LEFT_ON : LEFT_BROKEN;
}

#if defined(__arm__)
static MT_COLD enum left leave_slow(struct walk *w, struct step *f, struct place *to)
{
	uintptr_t pc = f->pc, sp = f->sp;

	if (!mt_unwind_ehabi_leave(&w->u->known, w->r, w->depth, &pc, &sp, &w->base))
		return LEFT_BROKEN;
	*to = (struct place){ pc, sp, 0 };
	return LEFT_ON;
}

static bool begins(const struct step *f, uint64_t rule)
{
	return rule & RULE_FIRST && mt_unwind_begins(f->sp);
}
#else
static bool begins(const struct step *f, uint64_t rule)
{
	(void)f, (void)rule;
	return false;
}

/* With all registers, from the innermost frame on: the only way to know the others. */
static MT_COLD enum left leave_slow(struct walk *w, struct step *f, struct place *to)
{
	struct known *known = &w->u->known;
	struct cfi_regs regs = { .known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP };

	regs.value[CFI_RA] = w->r->pc;
	regs.value[CFI_SP] = w->r->sp;
	regs.value[CFI_BP] = w->r->fp;
	if (!mt_unwind_enter(known, w->r->sp, true))
		return LEFT_BROKEN;
	for (uint32_t i = 0; regs.value[CFI_SP] != f->sp || regs.value[CFI_RA] != pc_code(f->pc);
	     i++) {
		if (i >= w->depth || !mt_cfi_step(known, &regs, &w->base))
			return LEFT_BROKEN;
	}
	if (!mt_cfi_step(known, &regs, &w->base)) {
		if (w->base != MTW_TRUNC_NONE)
			return LEFT_BROKEN;
		regs.value[CFI_RA] = 0; /* ends here; the caller looks at pc */
	}
	to->pc = regs.value[CFI_RA];
	to->sp = regs.value[CFI_SP];
	to->bp = regs.known & 1u << CFI_BP ? regs.value[CFI_BP] : 0;
	return LEFT_ON;
}

#endif

/* Steps by a proved frame pointer. The obstacle to a proof may vanish while all compared words stay
 * the same, so a frame that ends the stack never matches. */
static MT_COLD enum left leave_proven(struct walk *w, struct step *f, uint64_t rule,
				      struct place *to)
{
	struct known *known = &w->u->known;
	struct caller caller;

	if (!known->sites)
		mt_unwind_proof_remember(known);
	if (!mt_unwind_proof_leave(known, f->pc, f->sp, f->bp, &caller)) {
		w->base = rule_reason(rule);
		f->call.shape |= FRAME_SLOW;
		return LEFT_LAST;
	}
	f->bp_slot = f->bp;
	*to = (struct place){ caller.pc, caller.sp, caller.bp };
	return LEFT_ON;
}

static enum left leave_by(struct walk *w, struct step *f, uint64_t rule, struct place *to)
{
	switch (rule & RULE_KIND) {
	case RULE_FAST: return leave_odd(w->u, f, rule, to);
	case RULE_SIGNAL:
		w->listed = BY_RECORDS;
		return w->listed ? LEFT_LAST : leave_signal(w->u, f, to);
	case RULE_SLOW: return leave_slow(w, f, to);
	case RULE_PROVE: return leave_proven(w, f, rule, to);
	case RULE_NONE: w->base = begins(f, rule) ? MTW_TRUNC_NONE : rule_reason(rule);
	}
	return LEFT_LAST;
}

/* Why a rule led to nowhere: off the end of a stack that is not the thread's own, or false. */
static MT_COLD unsigned broken_reason(const struct walk *w, const struct step *f)
{
	const struct bounds *b = &w->u->known.at[0];
	bool foreign = !b->native && f->sp >= b->lo && f->sp <= b->hi && b->hi - f->sp < 256;

	return foreign ? MTW_TRUNC_SWITCHED : MTW_TRUNC_BAD_CFI;
}

static MT_COLD enum left leave_rare(struct walk *w, struct step *f, uint64_t rule, struct place *to)
{
	enum left left = leave_by(w, f, rule, to);

	if (left == LEFT_BROKEN) {
		w->base = broken_reason(w, f);
		f->call.shape |= FRAME_SLOW;
	}
	return left;
}

/* A return address of 0, or none that a program can have. */
static MT_COLD enum left end_at(struct walk *w, const struct step *f, struct place *at)
{
	if (!(f->call.shape & (FRAME_SIGNAL | FRAME_SLOW)))
		at->pc = pc_bare(at->pc);
	if (at->pc)
		return LEFT_ON;
	w->zero_at = f->call.shape & (FRAME_SIGNAL | FRAME_SLOW) ? 0 : RETURN_AT(f, at->sp);
	return LEFT_LAST;
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

/* Adds *at to the new frames, and makes it its caller. */
MT_INLINE enum left advance(struct walk *w, struct place *at)
{
	const struct pc_entry *e = unwind_pc(w->u, pc_code(at->pc));
	uint64_t rule = e->rule;
	struct step *f = --w->next;

	f->pc = at->pc;
	f->sp = at->sp;
	f->bp = at->bp;
	f->call = e->call;
	if (unlikely(!leave_fast(w->u, f, rule, at))) {
		enum left left = leave_rare(w, f, rule, at);
		if (left != LEFT_ON)
			return left;
	}
	return likely((intptr_t)at->pc > 0) ? LEFT_ON : end_at(w, f, at);
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

/*
 * Walks until the stack ends (returns -1) or until a kept frame is met below which everything
 * holds (returns its index). Before the outermost kept frame lies one whose sp is above all
 * (unwind/cache.c).
 */
static int32_t walk(struct walk *w, struct place at)
{
	const struct frame *kept = w->u->frames, *k = kept + w->u->count;

	for (;;) {
		while (k[-1].at.sp < at.sp)
			k--;
		if (k[-1].at.sp == at.sp && k[-1].at.pc == at.pc &&
		    (k[-1].at.bp == at.bp || !(k[-1].at.call.shape & FRAME_BP_USED))) {
			int32_t i = (int32_t)(k - kept) - 1, to;
			if (meets(w, i, &at, &to))
				return i;
			if (to < 0)
				return -1;
			k = kept + to;
		}
		if (unlikely(w->next == w->full)) {
			w->base = MTW_TRUNC_DEPTH;
			return -1;
		}
		if (unlikely(advance(w, &at) != LEFT_ON))
			return -1;
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

/* The steps s..end lead from `node` to where no path has been: makes the nodes for all of them.
 * Returns the first one's; *next is the second one's, from where on the numbers are in a row. 0:
 * the trie is full. When another thread was here just now, the first is its, and *next is 0. */
static __attribute__((noinline)) node_id branch_off(struct unwind_cache *u, node_id node,
						    const struct step *s, const struct step *end,
						    node_id *next)
{
	uint32_t n = 0;

	/* each folded step may lead back */
	for (const struct step *at = s; at < end && !(n && mt_conf.fold_recursion); at++)
		if (!(at->call.shape & FRAME_OWN)) {
			if (unlikely(!at->call.code))
				return 0;
			n++;
		}
	node_id first = mt_stacks_reserve(n), id = first;
	if (unlikely(!first))
		return 0;
	u->effort.edge_misses += n;
	for (; id < first + n; s++)
		if (!(s->call.shape & FRAME_OWN)) {
			mt_stacks_fill(id, node, s->call.code, id + 1 < first + n ? id + 1 : 0);
			node = id++;
		}
	id = mt_stacks_enter(first);
	*next = id == first && n > 1 ? first + 1 : 0;
	return id;
}

/* The nodes of the steps s..end, which are to be the frames from f on. *last is the one that they
 * hang below, and becomes the innermost. false: the trie is full. */
MT_INLINE bool nodes_of(struct unwind_cache *u, struct frame *f, const struct step *s,
			const struct step *end, node_id *last)
{
	node_id node = *last, next = 0; /* the next step's, if it was made with the last one's */
	struct node *at = stacks_node(node);

	for (; s < end; s++, f++) {
		if (unlikely(s->call.shape & FRAME_OWN)) {
			f->node = node;
			continue;
		}
		node_id child = next ? next++ : unwind_known_edge(u, node, s->call.code, &at);
		if (unlikely(!child)) {
			child = branch_off(u, node, s, end, &next);
			if (unlikely(!child))
				return false;
			at = stacks_node(child);
		}
		f->node = node = child;
	}
	*last = node;
	return true;
}

/* A frame of the kept stack: its pairs, and whether its bp matters (`bp`: the outer one's does). */
static struct pair *pairs_of(const struct unwind_cache *u, struct frame *f, bool bp, struct pair *p)
{
	uint32_t shape = f->at.call.shape;

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

/* Stores the new frames s..end inside of the first `from`, with their nodes and pairs. false: the
 * trie is full. */
static bool number(struct unwind_cache *u, uint32_t from, const struct step *s,
		   const struct step *end, node_id *result)
{
	struct frame *f = u->frames + from;
	struct pair *p = u->pairs + (from ? f[-1].pairs : 0);
	bool bp = from && f[-1].at.call.shape & FRAME_BP_USED;
	uint64_t made = u->passes;

	*result = from ? f[-1].node : u->base ? mt_stacks_truncated(u->base) : 0;
	if (unlikely(!nodes_of(u, f, s, end, result)))
		return false;
	for (; s < end; s++, f++) {
		f->at = *s;
		f->made = made;
		/* most frames: left by a call, and no bp matters */
		if (likely(!bp && !(s->call.shape & ~FRAME_SAVED) && f != u->frames)) {
			*p++ = (struct pair){ RETURN_AT(s, f[-1].at.sp), f[-1].at.pc };
		} else {
			p = pairs_of(u, f, bp, p);
			bp = f->at.call.shape & FRAME_BP_USED;
		}
		f->pairs = (uint32_t)(p - u->pairs);
	}
	u->count = (uint32_t)(f - u->frames);
	return true;
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

static MT_COLD node_id give_up(struct unwind_cache *u)
{
	u->count = 0;
	return mt_stacks_truncated(MTW_TRUNC_NODES);
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
	if (unlikely(!unwind_in(&u->known.at[0], r->sp - WORD) &&
		     !mt_unwind_enter(&u->known, r->sp, true)))
		return mt_stacks_truncated(MTW_TRUNC_BAD_CFI);
	struct step *end = u->steps + u->capacity;
	struct walk w = { .u = u, .r = r, .next = end, .full = end - depth, .depth = depth };
	int32_t met = walk(&w, (struct place){ r->pc, r->sp, r->fp });
	if (BY_RECORDS && unlikely(w.listed)) {
		u->count = 0;
		return mt_unwind_list_capture(u, r);
	}
	/* till all are there: record/record.c's hits look here */
	u->count = settle_base(&w, (uint32_t)(met + 1), end);
	atomic_signal_fence(memory_order_release);
	if (unlikely(!number(u, u->count, w.next, end, &node)))
		return give_up(u);
	return node;
}
