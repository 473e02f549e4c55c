/* SPDX-License-Identifier: MIT
 *
 * test_line.c - rate and growth of a process without a view of its own, of which only the board
 * tells; by the time that it ran.
 */
#include "check.h"
#include "processes/line.h"

#define SECOND UINT64_C(1000000000)
#define MIB UINT64_C(1048576)

static struct line running(void)
{
	struct line l = { .stamp_ns = 1 };

	l.p.state = PROCESS_RUNNING;
	return l;
}

static void allocate(struct line *l, uint64_t second, uint64_t bytes)
{
	l->p.sum.alloc_bytes += bytes;
	l->stamp_ns = second * SECOND;
	line_measure(l, second * SECOND);
}

/* As all rates: of the last ten seconds, and of less in the first ones. */
TEST(a_rate_is_of_ten_seconds)
{
	struct line l = running();

	allocate(&l, 1, 7 * MIB);
	CHECK(l.p.rate == 0 && !l.p.rate_known);
	allocate(&l, 2, 3 * MIB);
	CHECK(l.p.rate == 3 * MIB && l.p.rate_known);
	allocate(&l, 3, MIB);
	CHECK(l.p.rate == 2 * MIB && !l.p.growth_known);
	for (uint64_t i = 4; i <= 12; i++)
		allocate(&l, i, 0);
	CHECK(l.p.rate == 0.1 * MIB); /* of the tenth second before */
	allocate(&l, 13, 0);
	CHECK(l.p.rate == 0 && l.p.rate_known && l.p.growth_known);
	line_rest(&l);
	CHECK(!l.p.rate_known && !l.p.growth_known);
}

struct course {
	struct line l;
	uint64_t now;
};

/* So many seconds, in each of which it allocates so many bytes and keeps them. */
static void seconds(struct course *c, unsigned n, uint64_t bytes, bool figures)
{
	struct tally sum = c->l.p.sum;

	while (n--) {
		c->now += SECOND;
		sum.alloc_blocks++;
		sum.alloc_bytes += bytes;
		line_figures(&c->l, &sum, 0);
		c->l.stamp_ns = figures ? c->now : c->l.stamp_ns;
		line_measure(&c->l, c->now);
	}
}

static void must_grow_as_before(const struct course *c)
{
	CHECK_EQ((uint64_t)(c->l.p.growth + 0.5), 60000);
	CHECK_EQ((uint64_t)(c->l.p.rate + 0.5), 1000);
}

TEST(a_stopped_process_grows_as_fast_as_before)
{
	struct course c = { .now = 100 * SECOND };

	seconds(&c, 30, 1000, true);
	must_grow_as_before(&c);
	c.l.p.stopped = true;
	seconds(&c, 200, 0, true);
	must_grow_as_before(&c);
	c.l.p.stopped = false;
	for (unsigned i = 0; i < 100; i++) {
		seconds(&c, 1, 1000, true);
		must_grow_as_before(&c);
	}
	seconds(&c, 61, 0, true);
	CHECK_EQ((uint64_t)c.l.p.growth, 0);
	line_rest(&c.l);
}

/* A frozen one's agent is silent: three seconds of it count. */
TEST(a_frozen_process_grows_nearly_as_fast_as_before)
{
	struct course c = { .now = 100 * SECOND };

	seconds(&c, 60, 1000, true);
	seconds(&c, 200, 0, false);
	seconds(&c, 1, 1000, true);
	CHECK(c.l.p.growth > 56000 && c.l.p.growth < 60001);
	line_rest(&c.l);
}

/* What tells it from others of its name. */
TEST(words_of_a_process)
{
	static const struct {
		const char *name, *title, *words;
	} cases[] = {
		{ "make", "", "make" },
		{ "make", "make", "make" },
		{ "make", "/usr/bin/make", "make" },
		{ "cc1plus", "/usr/lib/gcc/cc1plus -quiet a.cc", "cc1plus -quiet a.cc" },
		{ "cc1plus", "cc1plus -quiet a.cc", "cc1plus -quiet a.cc" },
		{ "nginx", "nginx: worker process", "nginx: worker process" },
		{ "postgres", "postgres: app 10.1.2.3 idle", "postgres: app 10.1.2.3 idle" },
		{ "python3", "/usr/bin/python3 serve.py 80", "python3 serve.py 80" },
		{ "sleep", "sleeper 1", "sleep 1" },
		{ "", "x y", " y" },
	};
	char out[64];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct process p = { .title = cases[i].title };
		snprintf(p.name, sizeof p.name, "%s", cases[i].name);
		CHECK_STR(process_words(&p, out, sizeof out), cases[i].words);
	}
	struct process p = { .name = "cc1plus", .title = "cc1plus -quiet a.cc" };
	CHECK_STR(process_words(&p, out, 10), "cc1plus -");
}
