/* SPDX-License-Identifier: MIT
 *
 * test_stops.c - what a tick's look at the target means: stopped, frozen, or neither.
 */
#include "check.h"
#include "collect/memory.h"
#include "collect/stops.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE (100 * MILLI)

/* A server with its target: each look is `ns` after the last one. */
struct course {
	struct stops t;
	struct stop_look look;
};

static struct course *begin(void)
{
	struct course *c = calloc(1, sizeof(*c));

	c->t.unseen = MTW_STOP_FROZEN;
	c->t.pause_ns = PAUSE;
	c->look =
		(struct stop_look){ .ns = SECOND, .cpu_ns = MILLI, .own_ns = MILLI, .threads = 3 };
	stops_take(&c->t, &c->look);
	return c;
}

/* The target ran for `ran`, the server ran or waited for `own`. */
static void later(struct course *c, uint64_t ns, uint64_t ran, uint64_t own, unsigned why)
{
	c->look.ns += ns;
	c->look.cpu_ns += ran;
	c->look.own_ns += own;
	c->look.why = why;
	stops_take(&c->t, &c->look);
}

static void ticks(struct course *c, unsigned n, uint64_t ran, unsigned why)
{
	while (n--)
		later(c, PAUSE, ran, MILLI / 10, why);
}

TEST(a_stop_lasts_from_the_first_look_at_it_to_the_last)
{
	struct course *c = begin();

	ticks(c, 10, 5 * MILLI, 0);
	uint64_t ran = stops_running(&c->t, c->look.ns);
	CHECK_EQ(ran, c->look.ns);
	ticks(c, 1, 2 * MILLI, MTW_STOP_SIGNAL);
	uint64_t from = c->look.ns;
	CHECK_EQ(c->t.count, 0); /* it may be one thread's, for a moment */
	ticks(c, 200, 0, MTW_STOP_SIGNAL);
	CHECK_EQ(c->t.count, 1);
	CHECK_EQ(c->t.list[0].begin_ns, from);
	CHECK_EQ(c->t.list[0].end_ns, 0);
	CHECK_EQ(stops_running(&c->t, c->look.ns), from);
	uint64_t to = c->look.ns;
	unsigned changed = c->t.changed;
	ticks(c, 5, 5 * MILLI, 0);
	CHECK(c->t.changed != changed);
	CHECK_EQ(c->t.list[0].end_ns, to);
	CHECK_EQ(c->t.list[0].stopped_ns, to - from);
	CHECK_EQ(c->t.list[0].times, 1);
	CHECK_EQ(stops_running(&c->t, c->look.ns), c->look.ns - (to - from));
}

TEST(who_stops_it_is_kept_and_another_reason_is_another_stop)
{
	struct course *c = begin();

	c->look.pid = 77;
	strcpy(c->look.name, "gdb");
	ticks(c, 4, 0, MTW_STOP_TRACED);
	CHECK_EQ(c->t.list[0].pid, 77);
	CHECK_STR(c->t.list[0].name, "gdb");
	c->look.pid = 0;
	c->look.name[0] = 0;
	ticks(c, 4, 0, MTW_STOP_SIGNAL);
	CHECK_EQ(c->t.count, 2);
	CHECK_EQ(c->t.list[1].why, MTW_STOP_SIGNAL);
	CHECK_EQ(c->t.list[0].end_ns, c->t.list[1].begin_ns);
	CHECK_EQ(c->t.total_ns, 7 * PAUSE);
}

/* strace stops it at each system call; a debugger may stop one thread of many. */
TEST(a_program_that_runs_in_between_is_not_stopped)
{
	struct course *c = begin();

	ticks(c, 50, MILLI / 100, MTW_STOP_TRACED);
	CHECK_EQ(c->t.count, 0);
	CHECK_EQ(c->t.total_ns, 0);
}

TEST(a_server_frozen_with_its_target_knows_it_afterwards)
{
	struct course *c = begin();

	ticks(c, 10, 5 * MILLI, 0);
	later(c, 20 * SECOND, 3 * MILLI, MILLI, 0);
	CHECK_EQ(c->t.count, 1);
	CHECK_EQ(c->t.list[0].why, MTW_STOP_FROZEN);
	CHECK_EQ(c->t.list[0].end_ns, c->look.ns);
	CHECK_EQ(c->t.total_ns, 20 * SECOND - PAUSE - MILLI);
	CHECK_EQ(c->t.list[0].stopped_ns, c->t.total_ns);
}

/* Two seconds late: it waited for a processor, worked, or was stopped alone. */
TEST(a_late_server_froze_nobody)
{
	struct course *c = begin();

	ticks(c, 10, 0, 0);
	later(c, 2 * SECOND, 0, 2 * SECOND - PAUSE, 0); /* a busy machine, an idle program */
	CHECK_EQ(c->t.count, 0);
	later(c, 2 * SECOND, 0, MILLI, 0); /* an idle program did not go into any freezer */
	CHECK_EQ(c->t.count, 0);
	ticks(c, 10, PAUSE, 0);
	later(c, 2 * SECOND, 2 * SECOND, MILLI, 0); /* the program ran meanwhile */
	CHECK_EQ(c->t.count, 0);
	ticks(c, 10, MILLI, 0);
	later(c, 2 * SECOND, 20 * MILLI, MILLI, 0); /* ... as it did before */
	CHECK_EQ(c->t.count, 0);
	c->look.own_ns = 0; /* no /proc/PID/schedstat */
	later(c, PAUSE, MILLI, 0, 0);
	later(c, 20 * SECOND, MILLI, 0, 0);
	CHECK_EQ(c->t.count, 0);
	CHECK_EQ(c->t.total_ns, 0);
}

TEST(a_sleep_of_the_machine_is_on_no_clock)
{
	struct course *c = begin();

	ticks(c, 3, MILLI, 0);
	c->look.ahead_ns += 3600 * SECOND;
	ticks(c, 1, MILLI, 0);
	CHECK_EQ(c->t.slept_ns, 3600 * SECOND);
	CHECK_EQ(c->t.slept_at_ns, c->look.ns);
	c->look.ahead_ns += 60 * SECOND;
	ticks(c, 1, MILLI, 0);
	CHECK_EQ(c->t.slept_ns, 3660 * SECOND);
	CHECK_EQ(stops_running(&c->t, c->look.ns), c->look.ns);
}

/* Breakpoint after breakpoint. */
TEST(a_full_list_joins_and_forgets_no_time)
{
	struct course *c = begin();
	uint64_t stopped = 0, times = 0;

	for (unsigned i = 0; i < 1000; i++) {
		ticks(c, 3 + i % 7, MILLI, 0);
		ticks(c, 4, 0, MTW_STOP_TRACED);
		CHECK(c->t.count <= MTW_STOPS_MAX);
	}
	ticks(c, 2, MILLI, 0);
	for (uint32_t i = 0; i < c->t.count; i++) {
		const struct stop *p = &c->t.list[i];
		CHECK(!i || p->begin_ns >= p[-1].end_ns);
		CHECK(p->stopped_ns <= p->end_ns - p->begin_ns);
		stopped += p->stopped_ns;
		times += p->times;
	}
	CHECK_EQ(stopped, c->t.total_ns);
	CHECK_EQ(times, 1000);
}
