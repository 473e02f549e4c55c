/* SPDX-License-Identifier: MIT
 *
 * unwind_cfi.c - the cfi engine: stacks by unwind tables, walking only what is new.
 *
 * A frame is (pc, sp, bp); a rule takes it to its caller's. The thread's last stack is kept,
 * outermost first. A new one is walked by rule from the inside; kept frames that lie further in than
 * the walk has come are dropped. Where the walk arrives at a kept frame (same pc, same sp, same bp
 * if that matters further out), the rest of the kept stack holds if and only if every word that
 * the walk would read from there on still has its value: the pairs. All equal: the kept node is the
 * answer for that part. Otherwise the frames inside of the first difference keep their shape,
 * the one whose caller changed is left by rule again, and the walk goes on; it may meet the kept
 * stack once more further out.
 *
 * Why this is exact: frame i's caller is a function of (pc, sp, bp) and of the words read, and
 * these are compared. bp matters where a rule computes from it, or leaves it alone and it matters
 * to the caller (bp_used, found outermost first); where it does not, the kept bp may be old, so
 * after a difference it is read again through the slots. An over-aligned frame's CFA is read from
 * memory: that word is a pair, too. Frames that need other registers are never taken for granted:
 * their pair is one that always differs.
 *
 * Why it is safe: pairs are compared from the inside out, and the first difference ends it, so no word
 * is read that a walk by rule would not read.
 *
 * The kept stack hangs below the root, or below the truncation `base`. A depth limit cuts the outer
 * end, so a stack that was cut is renumbered whenever its depth changes.
 */
#include "unwind_cfi.h"
#include "cfi.h"
#include "rule.h"
#include "unwind.h"
#include "unwind_fast.h"

#include <string.h>

#define WORD sizeof(uintptr_t)
#define UC_BP 120 /* x86-64 Linux: in the ucontext at a signal frame's sp */
#define UC_SP 160
#define UC_PC 168

/* A word that is never what its pair says. */
static const uintptr_t never = 0;

struct walk {
	struct unwind_cache *u;
	const struct regs *r;
	struct frame *next;  /* where the next fresh frame goes: they lie innermost first */
	struct frame *full;  /* ... which is the limit */
	uint32_t depth;      /* the limit as a number */
	unsigned base;       /* why the walk ended */
	uintptr_t zero_at;   /* where a return address of 0 ended it; 0 = it ended otherwise */
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

/* Index of the innermost pair below `count` that differs, or -1. */
MT_INLINE int32_t differing(const struct unwind_cache *u, uint32_t count)
{
	const struct pair *pairs = u->pairs;
	int32_t i = (int32_t)count - 1;

	while (i >= 0 && likely(word_at(pairs[i].at) == pairs[i].is))
		i--;
	return i;
}

bool mt_unwind_pairs_hold(const struct pair *p, uint64_t n)
{
	while (n && likely(word_at(p[n - 1].at) == p[n - 1].is))
		n--;
	return !n;
}

/* Leaves `f` for its caller `to` by the common rules. */
MT_INLINE enum left leave_fast(struct unwind_cache *u, struct frame *f, uint64_t rule, struct frame *to)
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
	if (unlikely(cfa <= f->sp || !is_word(u, cfa - WORD)))
		return LEFT_BROKEN;
	to->pc = pc_bare(word_at(cfa - WORD));
	to->sp = cfa;
	to->bp = f->bp;
	if (rule & RULE_SAVED) {
		slot = (uintptr_t)rule_bp(rule) + ((rule & RULE_BASE) == RULE_WORD ? f->bp : cfa);
		if (unlikely(!is_word(u, slot)))
			return LEFT_BROKEN;
		f->bp_slot = slot;
		to->bp = word_at(slot);
	}
	return LEFT_ON;
}

static MT_COLD enum left leave_signal(struct unwind_cache *u, struct frame *f, struct frame *to)
{
	uintptr_t context = f->sp;

	if ((context & (WORD - 1)) || !unwind_readable(&u->known, context + UC_BP) ||
	    !unwind_readable(&u->known, context + UC_PC))
		return LEFT_BROKEN;
	f->leave = LEAVE_SIGNAL;
	f->bp_slot = context + UC_BP;
	to->bp = word_at(context + UC_BP);
	to->sp = word_at(context + UC_SP);
	to->pc = word_at(context + UC_PC) | PC_EXACT;
	return mt_unwind_enter(&u->known, to->sp, false) ? LEFT_ON : LEFT_BROKEN;
}

/* With all registers, from the innermost frame on: the only way to know the others. */
static MT_COLD enum left leave_slow(struct walk *w, struct frame *f, struct frame *to)
{
	struct known *known = &w->u->known;
	struct cfi_regs regs = { .known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP };

	regs.value[CFI_RA] = w->r->pc;
	regs.value[CFI_SP] = w->r->sp;
	regs.value[CFI_BP] = w->r->fp;
	f->leave = LEAVE_SLOW;
	if (!mt_unwind_enter(known, w->r->sp, true))
		return LEFT_BROKEN;
	for (uint32_t i = 0; regs.value[CFI_SP] != f->sp || regs.value[CFI_RA] != f->pc; i++) {
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

static MT_COLD enum left leave_rare(struct walk *w, struct frame *f, uint64_t rule, struct frame *to)
{
	switch (rule & RULE_KIND) {
	case RULE_SIGNAL:
		return leave_signal(w->u, f, to);
	case RULE_SLOW:
		f->uses_bp = true;
		return leave_slow(w, f, to);
	case RULE_END:
		f->leave = LEAVE_LAST;
		return LEFT_LAST;
	}
	f->leave = LEAVE_LAST;
	w->base = rule_reason(rule);
	return LEFT_LAST;
}

/* Why a rule led to nowhere: off the end of a stack that is not the thread's own, or false. */
static MT_COLD unsigned broken_reason(const struct walk *w, const struct frame *f)
{
	const struct bounds *b = &w->u->known.at[0];
	bool foreign = !b->native && f->sp >= b->lo && f->sp <= b->hi && b->hi - f->sp < 256;

	return foreign ? MTW_TRUNC_SWITCHED : MTW_TRUNC_BAD_CFI;
}

/* Adds `at` to the fresh frames and leaves it; `at` becomes its caller. */
MT_INLINE enum left advance(struct walk *w, struct frame *at)
{
	struct frame *f = w->next++;
	struct pc_entry e = *unwind_pc(w->u, at->pc);
	enum left left;

	f->pc = at->pc;
	f->sp = at->sp;
	f->bp = at->bp;
	f->bp_slot = f->word = 0;
	f->code = e.code;
	f->own = e.rule & RULE_OWN;
	f->uses_bp = rule_uses_bp(e.rule);
	f->leave = LEAVE_CALL;
	left = likely((e.rule & RULE_KIND) == RULE_FAST) ? leave_fast(w->u, f, e.rule, at)
							  : leave_rare(w, f, e.rule, at);
	if (unlikely(left == LEFT_BROKEN)) {
		w->base = broken_reason(w, f);
		f->leave = LEAVE_SLOW;
	} else if (unlikely(left == LEFT_ON && at->pc == 0)) {
		w->zero_at = f->leave == LEAVE_CALL ? at->sp - WORD : 0;
		left = LEFT_LAST;
	}
	return left;
}

/* Kept frames from..to+1 keep their shape and count as fresh; *at becomes frame `to`. */
static bool take_shapes(struct walk *w, int32_t from, int32_t to, struct frame *at)
{
	const struct frame *kept = w->u->frames;
	uintptr_t bp = at->bp;

	for (int32_t i = from; i > to; i--) {
		if (w->next == w->full) {
			w->base = MTW_TRUNC_DEPTH;
			return false;
		}
		struct frame *f = w->next++;
		*f = kept[i];
		f->bp = bp;
		if (f->bp_slot)
			bp = word_at(f->bp_slot);
	}
	at->pc = kept[to].pc;
	at->sp = kept[to].sp;
	at->bp = bp;
	return true;
}

/* Which kept frame, from `i` outwards, made the pair. */
static int32_t owner_of(const struct frame *kept, int32_t i, int32_t pair)
{
	while (i > 0 && (int32_t)kept[i - 1].pairs > pair)
		i--;
	return i;
}

/*
 * The walk is at the kept frame i: do it and all further out hold? Otherwise *at becomes the last
 * one that does, *to is its index, and its caller is to be found anew; -1 when the limit was met.
 */
static bool meets(struct walk *w, int32_t i, struct frame *at, int32_t *to)
{
	struct unwind_cache *u = w->u;
	const struct frame *kept = u->frames;
	int32_t pair = differing(u, kept[i].pairs);
	bool cut = u->base == MTW_TRUNC_DEPTH && i + 1 < w->full - w->next;

	*to = pair < 0 ? 0 : owner_of(kept, i, pair);
	if (pair < 0 && !cut)
		return true;
	if (!take_shapes(w, i, *to, at))
		*to = -1;
	return false;
}

/*
 * Walks until the stack ends (returns -1) or until a kept frame is met below which everything
 * holds (returns its index).
 */
static int32_t walk(struct walk *w, struct frame at)
{
	const struct frame *kept = w->u->frames, *k = kept + w->u->count;

	for (;;) {
		while (k > kept && k[-1].sp < at.sp)
			k--;
		if (k > kept && k[-1].sp == at.sp && k[-1].pc == at.pc &&
		    (k[-1].bp == at.bp || !k[-1].bp_used)) {
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

MT_INLINE void add_pair(struct unwind_cache *u, uint32_t *count, uintptr_t at, uintptr_t is)
{
	u->pairs[(*count)++] = (struct pair){ at, is };
}

/* What to compare for a frame, and whether its bp matters. The word that is read first goes last. */
MT_INLINE void make_pairs(struct unwind_cache *u, struct frame *f, const struct frame *outer)
{
	uint32_t count = outer ? outer->pairs : 0;
	bool outer_bp = outer && outer->bp_used;

	if (!outer) {
		if (u->zero_at) {
			add_pair(u, &count, u->zero_at, 0);
			if (f->word)
				add_pair(u, &count, f->word, u->zero_at + WORD);
		}
		if (f->leave == LEAVE_SLOW)
			add_pair(u, &count, (uintptr_t)&never, 1);
	} else if (f->leave == LEAVE_SLOW) {
		add_pair(u, &count, (uintptr_t)&never, 1);
	} else {
		bool signal = f->leave == LEAVE_SIGNAL;
		add_pair(u, &count, signal ? f->sp + UC_PC : outer->sp - WORD, pc_bare(outer->pc));
		if (outer_bp && f->bp_slot)
			add_pair(u, &count, f->bp_slot, outer->bp);
		if (signal)
			add_pair(u, &count, f->sp + UC_SP, outer->sp);
		else if (f->word)
			add_pair(u, &count, f->word, outer->sp);
	}
	f->bp_used = f->uses_bp || (outer_bp && !f->bp_slot);
	f->pairs = count;
}

/* Numbers the kept frames from `from` on; false when the trie is full. */
static bool number(struct unwind_cache *u, uint32_t from, node_id *result)
{
	struct frame *f = u->frames + from, *end = u->frames + u->count;
	const struct frame *outer = from ? f - 1 : NULL;
	node_id node = outer ? outer->node : u->base ? mt_stacks_truncated(u->base) : 0;

	for (; f < end; outer = f++) {
		if (!f->own) {
			node = likely(f->code) ? unwind_edge(u, node, f->code) : 0;
			if (unlikely(!node))
				return false;
		}
		f->node = node;
		make_pairs(u, f, outer);
	}
	*result = node;
	return true;
}

/* The walk's frames become the kept stack, inside of the `same` outermost that still hold. */
static uint32_t keep(struct walk *w, uint32_t same)
{
	struct unwind_cache *u = w->u;
	const struct frame *fresh = u->frames + u->capacity, *from = w->next;
	uint32_t count = (uint32_t)(w->next - fresh), total = same + count;
	uint32_t cut = total > w->depth ? total - w->depth : 0;

	if (same == 0 || cut) {
		u->base = cut ? MTW_TRUNC_DEPTH : w->base;
		u->zero_at = cut ? 0 : w->zero_at;
	}
	if (cut) { /* cut <= same: the walk itself stops at the limit */
		memmove(u->frames, u->frames + cut, (same - cut) * sizeof(*u->frames));
		same -= cut;
	}
	for (struct frame *to = u->frames + same; from > fresh; to++)
		*to = *--from;
	u->count = same + count;
	return cut ? 0 : same;
}

static MT_COLD node_id give_up(struct unwind_cache *u)
{
	u->count = 0;
	mt_unwind_count_truncated(MTW_TRUNC_NODES);
	return mt_stacks_truncated(MTW_TRUNC_NODES);
}

static __attribute__((noinline)) node_id capture_new(struct unwind_cache *u, const struct regs *r,
						     uint32_t depth)
{
	struct frame *fresh = u->frames + u->capacity;
	struct walk w = { .u = u, .r = r, .next = fresh, .full = fresh + depth, .depth = depth };
	struct frame at = { .pc = r->pc, .sp = r->sp, .bp = r->fp };
	node_id node;

	if (u->depth != depth)
		u->count = 0;
	u->depth = depth;
	if (unlikely(!unwind_in(&u->known.at[0], r->sp - WORD) &&
		     !mt_unwind_enter(&u->known, r->sp, true)))
		return mt_stacks_truncated(MTW_TRUNC_BAD_CFI);
	int32_t met = walk(&w, at);
	uint32_t from = keep(&w, (uint32_t)(met + 1));
	if (unlikely(!number(u, from, &node)))
		return give_up(u);
	if (unlikely(u->base))
		mt_unwind_count_truncated(u->base);
	return node;
}

node_id mt_unwind_cfi_capture(struct unwind_cache *u, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);

	if (unlikely(depth > u->capacity))
		depth = u->capacity;
	if (unlikely(u->known.foreign || u->known.spilled) && !mt_unwind_renew(&u->known, r->sp))
		u->count = 0;
	return capture_new(u, r, depth);
}

/* The plain walk, nothing kept: all registers, every table read anew. */
int mt_unwind_cfi_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		       unsigned *reason)
{
	struct known known = { .foreign = false };
	struct cfi_regs regs = { .known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP };
	int n = 0;

	(void)t;
	regs.value[CFI_RA] = r->pc;
	regs.value[CFI_SP] = r->sp;
	regs.value[CFI_BP] = r->fp;
	*reason = MTW_TRUNC_BAD_CFI;
	if (!mt_unwind_enter(&known, r->sp, true))
		return 0;
	do {
		if (n == max) {
			*reason = MTW_TRUNC_DEPTH;
			return n;
		}
		out[n++] = regs.value[CFI_RA];
	} while (mt_cfi_step(&known, &regs, reason));
	return n;
}
