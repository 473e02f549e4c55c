/* SPDX-License-Identifier: MIT
 *
 * test_call_stack.c - the call stack of an instrumented thread stays in step after calls beyond
 * its limit, after longjmp, and after missing or repeated exits.
 */
#include "check.h"
#include "base/self.h"
#include "record/thread.h"
#include "unwind/call_stack.h"

#include <pthread.h>
#include <setjmp.h>

#define NOINLINE __attribute__((noinline))

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

#define ENTER(f) __cyg_profile_func_enter((void *)(f), __builtin_return_address(0))
#define EXIT(f) __cyg_profile_func_exit((void *)(f), __builtin_return_address(0))
#define STAY __asm__ volatile("" ::: "memory") /* no tail call */

static jmp_buf back;
static volatile bool jumps = true; /* not known to the compiler */
static long deepest, at_bottom, over_at_bottom;

static long listed(void)
{
	const struct call_stack *s = mt_self_call_stack();

	return s ? s->top - s->entry - 1 : 0;
}

static void begin(void)
{
	CHECK(mt_thread_init());
	mt_call_stack_on = true;
}

NOINLINE static void fall(int depth)
{
	ENTER(fall);
	if (depth)
		fall(depth - 1);
	else if (jumps)
		longjmp(back, 1);
	EXIT(fall);
	STAY;
}

NOINLINE static void dig(long depth)
{
	ENTER(dig);
	if (listed() > deepest)
		deepest = listed();
	if (depth) {
		dig(depth - 1);
	} else {
		at_bottom = listed();
		over_at_bottom = (long)mt_self_call_stack()->over;
	}
	EXIT(dig);
	STAY;
}

NOINLINE static void look(long *count)
{
	ENTER(look);
	*count = listed();
	EXIT(look);
	STAY;
}

NOINLINE static void outer(void (*body)(void))
{
	ENTER(outer);
	body();
	EXIT(outer);
	STAY;
}

static void nothing(void) {}

static void digs(void)
{
	dig(9);
	CHECK_EQ(deepest, 11);
	CHECK_EQ(listed(), 1);
}

TEST(calls_and_returns)
{
	begin();
	outer(nothing);
	CHECK_EQ(listed(), 0);
	outer(digs);
	CHECK_EQ(listed(), 0);
}

static void digs_deep(void)
{
	dig(199999);
	CHECK(deepest > 50000);
	CHECK_EQ(at_bottom, deepest);
	CHECK_EQ(at_bottom + over_at_bottom, 200001);
	CHECK_EQ(listed(), 1);
	CHECK_EQ(mt_self_call_stack()->over, 0);
}

static void *deep_thread(void *arg)
{
	outer(digs_deep);
	CHECK_EQ(listed(), 0);
	return arg;
}

TEST(deeper_than_it_grows)
{
	pthread_attr_t attr;
	pthread_t thread;

	begin();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 20);
	CHECK_EQ(pthread_create(&thread, &attr, deep_thread, NULL), 0);
	pthread_join(thread, NULL);
}

static void falls(void)
{
	long seen = 0;

	for (volatile int i = 0; i < 1000; i++) {
		if (setjmp(back) == 0)
			fall(i % 40);
		look(&seen);
		/* What lies further in than look() is gone; a frame further out may still be
		 * listed. */
		CHECK(seen <= 3);
	}
}

TEST(jumps_over_exits)
{
	begin();
	outer(falls);
	CHECK_EQ(listed(), 0);
}

static long over_jumped;

NOINLINE static void dig_and_fall(long depth)
{
	ENTER(dig_and_fall);
	if (depth)
		dig_and_fall(depth - 1);
	else if (jumps)
		longjmp(back, 1);
	EXIT(dig_and_fall);
	STAY;
}

static void falls_deep(void)
{
	long seen = 0;

	if (setjmp(back) == 0)
		dig_and_fall(150000);
	over_jumped = (long)mt_self_call_stack()->over;
	look(&seen);
	CHECK(over_jumped > 0);
	CHECK_EQ(mt_self_call_stack()->over, 0);
	CHECK(seen <= 3);
}

static void *deep_fall_thread(void *arg)
{
	outer(falls_deep);
	CHECK_EQ(listed(), 0);
	CHECK_EQ(mt_self_call_stack()->over, 0);
	return arg;
}

TEST(jumps_out_of_what_was_only_counted)
{
	pthread_attr_t attr;
	pthread_t thread;

	begin();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 20);
	CHECK_EQ(pthread_create(&thread, &attr, deep_fall_thread, NULL), 0);
	pthread_join(thread, NULL);
}

/* The exit of a function entered before the recording removes no other function's entry. */
static void stray_exits(void)
{
	__cyg_profile_func_exit((void *)digs, (void *)digs);
	__cyg_profile_func_exit((void *)outer, (void *)digs);
	CHECK_EQ(listed(), 1);
}

TEST(exits_without_enters)
{
	begin();
	outer(stray_exits);
	CHECK_EQ(listed(), 0);
	__cyg_profile_func_exit((void *)outer, (void *)outer);
	CHECK_EQ(listed(), 0);
}

/* A state goes from a thread that died inside of its functions to one that begins with none. */
NOINLINE static void dies(void)
{
	ENTER(dies);
	pthread_exit(NULL);
}

static void *thread(void *arg)
{
	outer(nothing);
	CHECK_EQ(listed(), 0);
	if (arg)
		dies();
	return NULL;
}

TEST(threads_that_die_inside)
{
	begin();
	outer(nothing);
	for (int i = 0; i < 50; i++) {
		pthread_t id;
		CHECK_EQ(pthread_create(&id, NULL, thread, i % 2 ? &id : NULL), 0);
		pthread_join(id, NULL);
	}
	CHECK_EQ(listed(), 0);
}
