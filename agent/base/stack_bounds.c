/* SPDX-License-Identifier: MIT
 *
 * stack_bounds.c - the readable part of a stack, found without /proc and mostly without system
 * calls.
 *
 * A stack is mapped from a live stack pointer outwards to its end. For the main thread that end is
 * known (__libc_stack_end, or the kernel's answer). On any other stack mt_prim_readable() probes
 * one page of frames after the other, and no further than a frame reaches, because the probe brings
 * pages in.
 *
 * A thread's own stack is recognised by the control block at its top. It and the main stack are
 * native: bounds found on them hold until the thread ends. Any other stack (coroutine, sigaltstack)
 * may have been unmapped since the last capture, and a smaller mapping may lie there now. So each
 * capture that begins on one checks the known bounds again, in one call.
 *
 * A stack pointer is `certain` when a thread runs on it now. One that was read from memory is
 * probed first.
 */
#include "base/stack_bounds.h"
#include "base/libc.h"
#include "base/prim_linux.h"

#include <string.h>
#include <sys/auxv.h>

#define WORD sizeof(uintptr_t)
#define PAGE ((uintptr_t)4096)
/* The kernel keeps other mappings at least 128 MiB away from the end of the main stack. */
#define MAIN_SPAN ((uintptr_t)96 << 20)
#define REACH ((uintptr_t)1 << 20) /* a frame larger than this is taken for a false rule */
/* thread-local data between the first frame and the block */
#define TLS_REACH ((uintptr_t)64 << 10)

static uintptr_t page_of(uintptr_t addr)
{
	return addr & ~(PAGE - 1);
}

/* Where other libcs than glibc have no name for it: the random bytes that the kernel lays above the
 * arguments. */
static uintptr_t main_stack_end(void)
{
	static uintptr_t known;

	if (!known)
		known = LIBC(__libc_stack_end) ? (uintptr_t)*LIBC(__libc_stack_end)
					       : getauxval(AT_RANDOM) & ~(WORD - 1);
	return known;
}

static void note_foreign(struct known *known)
{
	known->foreign = false;
	for (int i = 0; i < KNOWN; i++)
		known->foreign |= known->at[i].hi && !known->at[i].native;
}

static void to_front(struct known *known, int i)
{
	struct bounds b = known->at[i];

	memmove(&known->at[1], &known->at[0], (size_t)i * sizeof(b));
	known->at[0] = b;
}

static void remember(struct known *known, uintptr_t lo, uintptr_t hi, bool native)
{
	known->spilled |= known->at[KNOWN - 1].hi != 0;
	known->at[KNOWN - 1] = (struct bounds){ lo, hi, native };
	to_front(known, KNOWN - 1);
	note_foreign(known);
}

/* The innermost page moved inwards: a deeper call than any before. */
static bool deepen(struct bounds *b, uintptr_t lo)
{
	if (!b->hi || lo >= b->lo || b->lo - lo > REACH || !mt_prim_readable(lo, b->lo - lo))
		return false;
	b->lo = lo;
	return true;
}

/* Is the first stack the thread's own? Its control block is at the top, or near above what is
 * known. */
static void claim(struct known *known)
{
	struct bounds *b = &known->at[0];
	uintptr_t control = (uintptr_t)mt_thread_pointer();

	if (known->main || control < b->lo ||
	    (control >= b->hi &&
	     (control - b->hi >= TLS_REACH || !mt_prim_readable(b->hi, control - b->hi))))
		return;
	b->hi = control > b->hi ? control : b->hi;
	b->native = true;
	note_foreign(known);
}

bool mt_unwind_enter(struct known *known, uintptr_t sp, bool certain)
{
	uintptr_t at = sp - WORD; /* the return address of the callee */
	uintptr_t lo = page_of(at);
	uintptr_t main_end = main_stack_end();

	for (int i = 0; i < KNOWN; i++) {
		if (unwind_in(&known->at[i], at)) {
			to_front(known, i);
			return true;
		}
	}
	if ((at & (WORD - 1)) || (!certain && !mt_prim_readable(lo, PAGE)))
		return false;
	uintptr_t control = (uintptr_t)mt_thread_pointer();
	bool other_thread = control > at && control < main_end; /* qemu-user keeps nothing away */
	bool on_main = at < main_end && main_end - at < MAIN_SPAN && !other_thread;
	known->main |= on_main;
	for (int i = 0; i < KNOWN; i++) {
		if (on_main && known->at[i].hi == main_end)
			known->at[i].lo = lo;
		else if (on_main || !deepen(&known->at[i], lo))
			continue;
		to_front(known, i);
		return true;
	}
	remember(known, lo, on_main ? main_end : lo + PAGE, on_main);
	claim(known); /* at once: its walks may never leave this page */
	return true;
}

/* Grows the first stack outwards to `end`; to the thread's control block when that is near. */
static bool grow(struct known *known, uintptr_t end)
{
	struct bounds *b = &known->at[0];

	if (end - b->hi > REACH || !mt_prim_readable(b->hi, end - b->hi))
		return false;
	b->hi = end;
	claim(known);
	return true;
}

bool mt_unwind_reach(struct known *known, uintptr_t addr)
{
	struct bounds *b = &known->at[0];
	uintptr_t end = page_of(addr + WORD - 1) + PAGE;

	for (int i = 0; i < KNOWN; i++) {
		if (unwind_in(&known->at[i], addr))
			return true;
	}
	return addr >= b->lo && end > b->hi && !b->native && grow(known, end);
}

/* A capture begins at sp, and something foreign is known. */
bool mt_unwind_renew(struct known *known, uintptr_t sp)
{
	bool native = false, whole = !known->spilled;

	for (int i = 0; i < KNOWN; i++)
		native |= known->at[i].native && unwind_in(&known->at[i], sp - WORD);
	for (int i = 0; i < KNOWN; i++) {
		struct bounds *b = &known->at[i];
		if (!b->hi || b->native)
			continue;
		if (native || !mt_prim_readable(b->lo, b->hi - b->lo)) {
			memset(b, 0, sizeof(*b));
			whole = false;
		}
	}
	known->spilled = false;
	note_foreign(known);
	return whole;
}
