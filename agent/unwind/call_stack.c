/* SPDX-License-Identifier: MIT
 *
 * call_stack.c - the rule of last resort: how to leave a frame that no unwind table describes, in a
 * program built with -finstrument-functions.
 *
 * unwind/leave.c and unwind/cfi_step.c ask when a pc has no table, or when its table needs a
 * register that is unknown behind such a frame. The entries of hooks/instrument.c name the
 * functions that the thread is inside, with their stack and frame pointers in the body and where
 * they return to. The innermost entry that is not further in than the frame decides:
 *   - In the frame's own module the frame counts as that function's. Its return address is searched
 *     for on the stack, from the entry's sp on. So a function without an entry
 *     (no_instrument_function) hides the one that called it.
 *   - A frame in another module was called by the entry's function, which is shown at its opening
 *     line: in its body, where it called the enter hook.
 *
 * A walk goes through the entries once, outwards, whatever stacks it comes to: a signal's own stack
 * may lie within a frame of what it interrupts.
 *
 * Entries go stale: longjmp() leaves without an exit, and so does an exception in C code. Those
 * further in than the frame are passed over, and so are those whose return address is not on the
 * stack. One case deceives it: a frame that grew, by alloca, over a left one that has the same
 * return address inside.
 *
 * The entries may change while all words on the stack stay the same, so a frame that was left by
 * them never matches as a kept one (FRAME_SLOW).
 */
#include "unwind/call_stack.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/self.h"
#include "modules/maps.h"
#include "unwind/cfi_step.h"
#include "unwind/rule.h"

#define WORD sizeof(uintptr_t)
#define SEARCH_BYTES ((uintptr_t)1 << 20)

bool mt_call_stack_on;

/* The innermost of the first `all` entries that is not further in than sp; the sentinel, if there
 * is no other. */
static const struct entry *entry_at(const struct call_stack *s, size_t all, uintptr_t sp)
{
	size_t some = 0;

	while (all - some > 1) {
		size_t half = some + (all - some) / 2;
		if (s->entry[half].sp >= sp)
			some = half;
		else
			all = half;
	}
	return &s->entry[some];
}

/* The first word outwards of the entry's sp that is where it returns to; 0 = none. The next entry
 * does not bound it: that may be a stale one, of a function that was called from the same place. */
static uintptr_t return_word(const struct bounds *b, const struct entry *e)
{
	uintptr_t end = b->hi - e->sp < SEARCH_BYTES ? b->hi : e->sp + SEARCH_BYTES;

	for (uintptr_t at = e->sp + (BY_RECORDS ? WORD : 0); at < end; at += WORD)
		if (pc_code(*(const uintptr_t *)at) == pc_code(e->site))
			return at;
	return 0;
}

/* The entry's function has its return address at `at`. */
static struct caller caller_of(const struct entry *e, uintptr_t at)
{
	struct caller to = { pc_code(e->site), at + WORD, 0 };

	if (!BY_RECORDS)
		return to;
	/* The record does not tell where its frame ends: the caller's entry does, or its table, for
	 * its frame pointer is the place of its own record. */
	to.bp = *(const uintptr_t *)(at - WORD);
	uint64_t rule = mt_cfi_rule(mt_maps_find(to.pc - 1), to.pc - 1, false);
	if (e[-1].fp == to.bp)
		to.sp = e[-1].sp;
	else if ((rule & (RULE_KIND | RULE_BASE | RULE_SAVED)) ==
		 (RULE_FAST | RULE_SP | RULE_SAVED))
		to.sp = to.bp - (uintptr_t)rule_bp(rule) - (uintptr_t)rule_cfa(rule);
	if (to.sp <= at)
		to.sp = at + WORD;
	return to;
}

MT_COLD bool mt_call_stack_leave(struct known *known, uintptr_t pc, uintptr_t sp, struct caller *to)
{
	const struct call_stack *s = mt_self_call_stack();
	const struct bounds *b = &known->at[0];
	const struct module *m = s ? mt_maps_find(pc_lookup(pc)) : NULL;
	size_t all = s ? (size_t)(s->top - s->entry) : 1;

	if (known->entered && known->entered < all)
		all = known->entered;
	for (const struct entry *e = all > 1 ? entry_at(s, all, sp) : NULL; e && e != s->entry;
	     e--) {
		/* on another stack nothing says that it is further out */
		if (e->sp < b->lo || e->sp >= b->hi)
			return false;
		if (!e->site)
			continue;
		known->entered = (size_t)(e - s->entry);
		if (!m || e->body - m->start >= m->end - m->start) {
			known->entered++; /* its own frame is still to come */
			*to = (struct caller){ e->body, e->sp, e->fp };
			if (e->sp > sp)
				return true;
			continue;
		}
		uintptr_t at = return_word(b, e);
		if (at) {
			*to = caller_of(e, at);
			return true;
		}
	}
	return false;
}

void mt_call_stack_end(struct thread *t)
{
	struct call_stack *s = t->calls;

	if (!s)
		return;
	s->top = s->entry + 1;
	s->over = 0;
	if (s->bytes > CALL_STACK_FIRST_BYTES)
		mt_prim_drop((char *)s + CALL_STACK_FIRST_BYTES, s->bytes - CALL_STACK_FIRST_BYTES);
}
