/* SPDX-License-Identifier: MIT
 *
 * instrument.c - notes the functions of programs built with -finstrument-functions.
 *
 * The compiler calls __cyg_profile_func_enter and _exit around every function. Each thread keeps an
 * array of the functions that it is inside, outermost first; entry 0 is a sentinel that is never
 * left. An entry holds where its function runs (sp, frame pointer, a pc in its body) and where it
 * returns to (the call site).
 *
 * The sp's keep the array in step: longjmp() leaves functions without an exit, and so does an
 * exception in C code. An enter or exit further out removes all entries further in than itself. A
 * handler or coroutine on a stack further out also removes entries of functions that still run:
 * their stacks end there where they have no unwind tables (unwind/call_stack.c).
 *
 * Beyond the array's largest size, enters are counted and exits take from the count. An exit or
 * enter further out than the last entry ends the count, so it cannot go out of step.
 *
 * Enter and exit run on the program's threads at any moment. A signal handler that enters and exits
 * in the middle of an enter overwrites the place of the new entry. So the entry's sp is written
 * before the entry counts, and again with all the rest afterwards.
 */
#include "hooks/caller.h"
#include "hooks/instrument.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/self.h"
#include "base/types.h"
#include "record/thread.h"
#include "unwind/call_stack.h"

#include <string.h>

#define MOST_BYTES ((size_t)4 << 20) /* some 87,000 functions deep */

MT_EXPORT void __cyg_profile_func_enter(void *fn, void *site);
MT_EXPORT void __cyg_profile_func_exit(void *fn, void *site);

static struct call_stack *map_stack(size_t bytes)
{
	struct call_stack *s = mt_prim_map(bytes, false);

	if (!s)
		return NULL;
	s->bytes = bytes;
	s->end = s->entry + (bytes - sizeof(*s)) / sizeof(struct entry);
	s->entry[0].sp = UINTPTR_MAX;
	s->top = s->entry + 1;
	mt_arena_range((uintptr_t)s, bytes, PART_CACHES);
	return s;
}

/* A thread's first function. NULL: its functions are not noted. */
static MT_COLD struct call_stack *begin(void)
{
	struct thread *t = mt_thread_self();

	if (t->shared)
		return NULL;
	mt_self_set_call_stack(t, t->calls ? t->calls : map_stack(CALL_STACK_FIRST_BYTES));
	return t->calls;
}

/* The old one stays mapped, its head whole: an enter that was interrupted may still use it. */
static MT_COLD struct call_stack *grow(struct call_stack *s)
{
	struct call_stack *more = s->bytes < MOST_BYTES ? map_stack(2 * s->bytes) : NULL;

	if (!more)
		return NULL;
	memcpy(more->entry, s->entry, (size_t)((char *)s->top - (char *)s->entry));
	more->top = more->entry + (s->top - s->entry);
	atomic_signal_fence(memory_order_seq_cst);
	mt_self_set_call_stack(mt_thread_self(), more);
	mt_prim_drop((char *)s + 4096, s->bytes - 4096);
	return more;
}

/* A function runs at sp: functions further in were left without an exit. A function at the same sp
 * has this one inlined, unless it has another call site or was entered at this very place. */
static __attribute__((noinline)) struct entry *resync(struct call_stack *s, uintptr_t sp,
						      uintptr_t site, uintptr_t body)
{
	struct entry *e = s->top;

	while (e[-1].sp < sp)
		e--;
	for (struct entry *f = e; f[-1].sp == sp; f--)
		if (f[-1].site != site || f[-1].body == body)
			e = f - 1;
	if (e != s->top)
		s->over = 0;
	return e;
}

/* No room. NULL: it was counted. */
static MT_COLD struct call_stack *overflow(struct call_stack *s)
{
	struct call_stack *more = grow(s);

	if (!more)
		s->over++;
	return more;
}

MT_INLINE void enter(void *fn, void *site, uintptr_t body, uintptr_t sp, uintptr_t fp)
{
	struct call_stack *s = mt_self_call_stack();

	if (unlikely(!s) && !(s = begin()))
		return;
	struct entry *e = s->top;
	if (unlikely(e[-1].sp <= sp))
		e = resync(s, sp, (uintptr_t)site, body);
	if (unlikely(e == s->end)) {
		s = overflow(s);
		if (!s)
			return;
		e = s->top;
	}
	e->sp = sp;
	e->site = 0;
	atomic_signal_fence(memory_order_seq_cst);
	s->top = e + 1;
	atomic_signal_fence(memory_order_seq_cst);
	e->sp = sp;
	e->fn = (uintptr_t)fn;
	e->body = body;
	e->fp = fp;
	atomic_signal_fence(memory_order_seq_cst);
	e->site = (uintptr_t)site;
}

static __attribute__((noinline)) void leave_odd(struct call_stack *s, uintptr_t fn, uintptr_t site,
						uintptr_t sp)
{
	struct entry *e = s->top;

	if (s->over) {
		/* Not further out than the last entry's function: one that was only counted. */
		if (sp <= e[-1].sp) {
			s->over--;
			return;
		}
		s->over = 0;
	}
	/* Exits may be jumped to at a function's end: sp is the caller's by then. */
	while (e[-1].sp < sp) {
		e--;
		if (e->fn == fn && e->site == site) {
			s->top = e;
			return;
		}
	}
	s->top = e;
	for (; e > s->entry + 1 && e[-1].site == site; e--) {
		if (e[-1].fn == fn) {
			s->top = e - 1;
			return;
		}
	}
}

/* Somebody's behind the agent, who notes functions too; NULL. */
static void (*next_enter)(void *fn, void *site), (*next_exit)(void *fn, void *site);

void __cyg_profile_func_enter(void *fn, void *site)
{
	if (unlikely(next_enter != NULL))
		next_enter(fn, site);
	if (likely(!mt_call_stack_on))
		return;
	enter(fn, site, CALLER_PC, CALLER_SP, CALLER_FP);
}

void __cyg_profile_func_exit(void *fn, void *site)
{
	struct call_stack *s = mt_self_call_stack();

	if (unlikely(next_exit != NULL))
		next_exit(fn, site);
	if (likely(!s))
		return;
	struct entry *e = s->top - 1;
	if (likely(e->fn == (uintptr_t)fn && e->site == (uintptr_t)site && !s->over))
		s->top = e;
	else
		leave_odd(s, (uintptr_t)fn, (uintptr_t)site, CALLER_SP);
}

/* The same function under a name that no other module can define: tells whether the program calls
 * the agent's. */
extern __typeof__(__cyg_profile_func_enter) own_enter
	__attribute__((alias("__cyg_profile_func_enter"), visibility("hidden")));

void mt_hooks_enter_pass_on(void *enter_of_next, void *exit_of_next)
{
	next_enter = (void (*)(void *, void *))enter_of_next;
	next_exit = (void (*)(void *, void *))exit_of_next;
}

bool mt_hooks_enter_is_ours(void)
{
	void *bound = (void *)__cyg_profile_func_enter, *own = (void *)own_enter;

	__asm__("" : "+r"(bound), "+r"(own));
	return bound == own;
}
