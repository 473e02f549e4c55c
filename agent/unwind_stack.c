/* SPDX-License-Identifier: MIT
 *
 * unwind_stack.c - which part of a stack may be read, known without /proc and mostly without asking.
 *
 * From a live stack pointer outwards a stack is mapped to its end. For the main thread that is known
 * (__libc_stack_end). On any other stack it is felt for with mt_prim_readable(), one page of
 * frames after the other, once: what was found stays known until the thread runs elsewhere. Not more
 * than a frame reaches is asked about, since the question brings the pages in.
 *
 * A stack pointer is `certain` when somebody runs on it now; one that was read from memory is asked
 * about first.
 */
#include "unwind.h"

#define PAGE ((uintptr_t)4096)
/* The kernel keeps other mappings at least 128 MiB away from the end of the main stack. */
#define MAIN_SPAN ((uintptr_t)96 << 20)
#define REACH ((uintptr_t)1 << 20) /* a frame larger than this is taken for a false rule */

extern void *__libc_stack_end __attribute__((weak));

static uintptr_t page_of(uintptr_t addr)
{
	return addr & ~(PAGE - 1);
}

static void remember(struct bounds known[2], uintptr_t lo, uintptr_t hi, bool native)
{
	known[1] = known[0];
	known[0] = (struct bounds){ lo, hi, native };
}

/* The innermost page moved inwards: a deeper call than any before. */
static bool deepen(struct bounds *b, uintptr_t lo)
{
	if (!b->hi || lo >= b->lo || b->lo - lo > REACH || !mt_prim_readable(lo, b->lo - lo))
		return false;
	b->lo = lo;
	return true;
}

bool mt_unwind_enter(struct bounds known[2], uintptr_t sp, bool certain)
{
	uintptr_t at = sp - sizeof(uintptr_t); /* the return address of the callee */
	uintptr_t lo = page_of(at);
	uintptr_t main_end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;

	if (unwind_in(&known[0], at))
		return true;
	if (unwind_in(&known[1], at)) {
		struct bounds other = known[0];
		known[0] = known[1];
		known[1] = other;
		return true;
	}
	if ((at & (sizeof(uintptr_t) - 1)) || (!certain && !mt_prim_readable(lo, PAGE)))
		return false;
	if (at < main_end && main_end - at < MAIN_SPAN) {
		if (known[0].hi == main_end && known[0].native && lo < known[0].lo)
			known[0].lo = lo;
		else
			remember(known, lo, main_end, true);
		return true;
	}
	if (deepen(&known[0], lo) || deepen(&known[1], lo))
		return mt_unwind_enter(known, sp, certain);
	remember(known, lo, lo + PAGE, false);
	return true;
}

/* A thread of libc has its control block at the top of its stack. */
bool mt_unwind_native(const struct bounds *b)
{
	uintptr_t control = (uintptr_t)__builtin_thread_pointer();

	return b->native || (control >= b->lo && control < b->hi + PAGE);
}

bool mt_unwind_extend(struct bounds known[2], uintptr_t addr)
{
	struct bounds *b = &known[0];
	uintptr_t end = page_of(addr + sizeof(uintptr_t) - 1) + PAGE;

	if (b->native || addr < b->lo || end <= b->hi || end - b->hi > REACH ||
	    !mt_prim_readable(b->hi, end - b->hi))
		return false;
	b->hi = end;
	return true;
}
