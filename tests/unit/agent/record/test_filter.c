/* SPDX-License-Identifier: MIT
 *
 * test_filter.c - sampling is unbiased and its variance is the one that record/filter.h states; a
 * free finds its block's weight; switching filters neither loses nor invents blocks; expressions of
 * libs=. All seeds are fixed. The agent records the test's own malloc.
 */
#include "check.h"
#include "base/conf.h"
#include "base/self.h"
#include "base/state.h"
#include "base/types.h"
#include "live/live.h"
#include "modules/real.h"
#include "record/filter.h"
#include "record/loss.h"
#include "record/slots.h"
#include "record/thread.h"

#include <memtop/regex.h>
#include <memtop/wire.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noipa))
#define RATE (64u << 10)

/* e^-x, by its series on x / 2^k. The agent's own has no floating point: nothing in common. */
static long double exp_minus(long double x)
{
	int k = 0;
	long double sum = 0, term = 1;

	for (; x > 0.01L; x /= 2)
		k++;
	for (int i = 1; i < 12; i++) {
		sum += term;
		term *= -x / i;
	}
	for (; k; k--)
		sum *= sum;
	return sum;
}

/* 1 - e^-x, without cancellation where x is small. */
static long double chance(uint64_t size, uint64_t rate)
{
	long double x = (long double)size / (long double)rate, sum = 0, term = x;

	if (x > 0.01L)
		return 1 - exp_minus(x);
	for (int i = 2; i < 12; i++) {
		sum += term;
		term *= -x / i;
	}
	return sum;
}

TEST(weights_are_one_over_the_chance)
{
	static const uint64_t rates[] = { 1,       2,        1000,       4096,      RATE,
					  1000003, 1u << 24, 1ull << 32, 1ull << 40 };

	for (size_t r = 0; r < sizeof(rates) / sizeof(*rates); r++) {
		for (uint64_t size = 1; size < 1ull << 46; size += size / 3 + 1) {
			uint32_t fraction;
			uint64_t whole = mt_filter_blocks(size, rates[r], &fraction);
			long double is = (long double)whole + (long double)fraction / 4294967296.0L;
			long double want = 1 / chance(size, rates[r]);
			long double off = is > want ? is - want : want - is;
			CHECK(off <= want * 1e-5L + 1e-9L);
			CHECK(whole >= 1);
		}
	}
	uint32_t fraction;
	CHECK_EQ(mt_filter_blocks(0, RATE, &fraction), mt_filter_blocks(1, RATE, &fraction));
}

TEST(gaps_are_exponential)
{
	struct filtering f = { .random = 12345 };
	const int n = 400000;
	double sum = 0, above = 0;

	for (int i = 0; i < n; i++) {
		int64_t gap = mt_filter_gap(&f, RATE);
		CHECK(gap >= 1);
		sum += (double)gap;
		above += gap > RATE;
	}
	/* Mean R + 1/2 (rounded up), sigma of the mean R / sqrt(n); P(gap > R) = 1/e. */
	double mean = sum / n, off = (mean - RATE - 0.5) / RATE;
	CHECK(off * off < 16.0 / n);
	double e = 0.36787944117144233, part = above / n - e;
	CHECK(part * part < 16 * e * (1 - e) / n);
}

/* A test is a forked child: dormant, with closed gates. From here on they open, as in a program. */
static void wake(void)
{
	free(malloc(1));
	CHECK_EQ(atomic_load(&mt_state), AGENT_DORMANT);
	atomic_store(&mt_state, AGENT_ON);
}

static uint32_t set(const char *name, const char *value)
{
	const char *wrong = mt_conf_set(name, value, mt_filter_update);

	CHECK(!wrong);
	return atomic_load(&mt_filter_on);
}

/* (sum - exact)^2 < 16 * variance, in blocks and in bytes, for one size and for a mixture. */
static void unbiased(uint64_t seed, const size_t *sizes, int kinds, int n)
{
	uint32_t on = atomic_load(&mt_filter_on);
	const struct period *p = &mt_filter_period[on >> FILTER_SHIFT];
	struct filtering f = { .random = seed };
	double exact_bytes = 0, exact_blocks = 0, bytes = 0, blocks = 0, var_bytes = 0,
	       var_blocks = 0;

	mt_filter_renew(&f, on);
	for (int i = 0; i < n; i++) {
		size_t size = sizes[i % kinds];
		uint32_t fraction;
		exact_bytes += (double)size;
		exact_blocks++;
		double c = (double)chance(size, p->sample);
		mt_filter_blocks(size, p->sample, &fraction);
		double part = fraction / 4294967296.0, v = (1 - c) / c + c * part * (1 - part);
		var_blocks += v;
		var_bytes += v * (double)size * (double)size;
		if (filter_skips(&f, on, size))
			continue;
		mt_filter_draw(&f, p);
		struct booking w = mt_filter_weigh(&f, p, 0, size);
		blocks += (double)w.blocks;
		bytes += (double)(w.blocks * size);
		/* What the free will find: the same. */
		struct block b = { .size = size, .slot = w.entry };
		CHECK_EQ(mt_filter_weight(&b), w.blocks);
		CHECK_EQ(w.entry & (WEIGHED_END - 1), w.slot);
	}
	CHECK((bytes - exact_bytes) * (bytes - exact_bytes) <= 16 * var_bytes);
	CHECK((blocks - exact_blocks) * (blocks - exact_blocks) <= 16 * var_blocks);
	CHECK(blocks > 0);
}

TEST(estimates_are_unbiased)
{
	static const size_t sizes[] = { 1,     16,   24,       100,     1000,     4096,
					30000, RATE, 3 * RATE, 1 << 20, 20u << 20 };
	static const char *const rates[] = { "1000", "64k", "1m" };
	int kinds = sizeof(sizes) / sizeof(*sizes);

	for (int r = 0; r < 3; r++) {
		set("sample", rates[r]);
		for (int k = 0; k < kinds; k++)
			unbiased(1000 + (uint64_t)(r * 100 + k), &sizes[k], 1,
				 sizes[k] < 100 ? 4000000 : 400000);
		for (int seed = 1; seed <= 5; seed++)
			unbiased((uint64_t)seed * 7919, sizes, kinds, 200000);
	}
	set("sample", "0");
}

struct sums {
	uint64_t allocated, live, bytes;
};

/* Over all slots of one kind. */
static struct sums sums(bool weighed)
{
	struct sums s = { 0, 0, 0 };

	for (slot_id id = 1; id < mt_slots_count(); id++) {
		struct tally t;
		if ((mt_slots_at(id)->rate != 0) != weighed)
			continue;
		mt_slots_sum(id, &t);
		CHECK(t.alloc_blocks >= t.free_blocks && t.alloc_bytes >= t.free_bytes);
		s.allocated += t.alloc_blocks;
		s.live += t.alloc_blocks - t.free_blocks;
		s.bytes += t.alloc_bytes - t.free_bytes;
	}
	return s;
}

static uint64_t losses(void)
{
	uint64_t all = 0;

	for (unsigned r = 0; r < MTW_LOSS_COUNT; r++) {
		uint64_t events, bytes;
		mt_record_losses(r, &events, &bytes);
		all += events;
	}
	return all;
}

#define BLOCKS 20000

KEEP static void fill(void **blocks)
{
	for (volatile int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc((size_t)(i * 37 % 3000));
}

TEST(blocks_keep_the_weight_they_were_born_with)
{
	static void *before[BLOCKS], *sampled[BLOCKS], *rarer[BLOCKS], *after[BLOCKS];
	wake();
	uint64_t lost = losses();
	struct sums exact = sums(false);

	fill(before);
	struct sums full = sums(false);
	CHECK_EQ(full.live - exact.live, BLOCKS);
	set("sample", "4k");
	fill(sampled);
	set("sample", "200k");
	fill(rarer);
	CHECK_EQ(sums(false).live, full.live);
	CHECK(sums(true).live > BLOCKS);
	set("sample", "0");
	fill(after);
	CHECK_EQ(sums(false).live, full.live + BLOCKS);
	/* Freed under other filters than they were born under, and moved. */
	set("min_size", "1000");
	for (int i = 0; i < BLOCKS; i++)
		free(before[i]);
	CHECK_EQ(sums(false).live, exact.live + BLOCKS);
	set("sample", "1m");
	for (int i = 0; i < BLOCKS; i++)
		free(sampled[i] = realloc(sampled[i], (size_t)(i % 2000 + 1)));
	set("min_size", "0");
	set("sample", "0");
	for (int i = 0; i < BLOCKS; i++) {
		free(rarer[i]);
		free(after[i]);
	}
	CHECK_EQ(sums(false).live, exact.live);
	CHECK_EQ(sums(false).bytes, exact.bytes);
	CHECK_EQ(sums(true).live, 0);
	CHECK_EQ(sums(true).bytes, 0);
	CHECK_EQ(losses(), lost);
}

static _Atomic bool xstop;
static _Atomic uint64_t xrounds;

static void *hammer(void *arg)
{
	void *held[64] = { NULL };
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!atomic_load(&xstop)) {
		for (int i = 0; i < 500; i++) {
			seed = seed * 1103515245 + 12345;
			void **p = &held[seed >> 16 & 63];
			size_t size = seed >> 8 & 2047;
			if (seed & 1 << 30) {
				*p = realloc(*p, size + 1);
			} else {
				free(*p);
				*p = seed & 1 << 29 ? malloc(size) : calloc(1, size);
			}
		}
		atomic_fetch_add(&xrounds, 1);
	}
	for (int i = 0; i < 64; i++)
		free(held[i]);
	return NULL;
}

TEST(switching_under_load_loses_and_invents_nothing)
{
	static const char *const changes[][2] = {
		{ "sample", "4k" },   { "min_size", "512" }, { "sample", "0" },
		{ "max_size", "1k" }, { "min_size", "0" },   { "sample", "64k" },
		{ "merge", "2" },     { "max_size", "0" },   { "exclude", "^nothing" },
		{ "sample", "0" },    { "merge", "0" },      { "exclude", "" },
	};
	pthread_t threads[4];

	wake();
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)));
	while (atomic_load(&xrounds) < 4)
		sched_yield();
	/* The threads' own descriptors stay: all else that is counted exactly is theirs, and will
	 * go. */
	for (int i = 0; i < 240; i++) {
		uint64_t rounds = atomic_load(&xrounds);
		set(changes[i % 12][0], changes[i % 12][1]);
		while (atomic_load(&xrounds) < rounds + 3)
			sched_yield();
	}
	atomic_store(&xstop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(sums(true).allocated > 0);
	CHECK_EQ(sums(true).live, 0);
	CHECK_EQ(sums(true).bytes, 0);
	CHECK(sums(false).live < 100); /* what the C library holds, not one of thousands */
	CHECK_EQ(losses(), 0);
	CHECK_EQ(atomic_load(&mt_filter_on), 0);
}

static uint64_t events(void)
{
	return filter_events(&mt_self()->filter);
}

/* Which of the thread's two gates is open: the one of this filter. */
static bool gate_is(bool sampled)
{
	const struct hot *hot = mt_self_hot();
	const struct thread *t = mt_self();

	return hot->open == (sampled ? NULL : t) && hot->sampled == (sampled ? t : NULL);
}

static bool gates_are_closed(void)
{
	return !mt_self_hot()->open && !mt_self_hot()->sampled;
}

KEEP static void touch(size_t bytes)
{
	free(malloc(bytes));
}

TEST(sampling_alone_has_a_gate_of_its_own)
{
	static const char *const others[] = { "min_size", "max_size", "merge" };

	wake();
	touch(1);
	CHECK(gate_is(false));
	set("sample", "64k");
	CHECK(gates_are_closed());
	touch(1);
	CHECK(gate_is(true));
	for (int i = 0; i < 3; i++) {
		set(others[i], "8");
		touch(1);
		CHECK(gate_is(false));
		set(others[i], "0");
		touch(1);
		CHECK(gate_is(true));
	}
	set("sample", "1m");
	touch(1);
	CHECK_EQ(mt_self()->filter.on, atomic_load(&mt_filter_on));
	set("sample", "0");
	touch(1);
	CHECK(gate_is(false));
}

TEST(a_fork_and_a_detach_close_the_gate_of_sampling)
{
	int status;

	wake();
	set("sample", "64k");
	touch(1);
	CHECK(gate_is(true));
	pid_t child = fork();
	if (!child)
		_exit(!gates_are_closed());
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK(gate_is(true));
	uint64_t before = events();
	atomic_store(&mt_state, AGENT_OFF);
	CHECK(mt_thread_retire_all(0));
	CHECK(gates_are_closed());
	touch(1);
	CHECK(gates_are_closed());
	CHECK_EQ(events(), before);
}

/* Each is one event, whichever path it takes, and each thousandth is timed. */
TEST(events_that_sampling_leaves_out_are_counted)
{
	struct sums exact = sums(false);

	wake();
	set("sample", "1000g");
	touch(1);
	uint64_t before = events(), timed = mt_self()->filter.timed.samples;
	uint64_t left = atomic_load(&mt_self()->filter.xleft);
	for (volatile int i = 0; i < 10000; i++)
		touch(i % 100 ? 40 : 0);
	CHECK_EQ(events() - before, 20000);
	CHECK_EQ(left - atomic_load(&mt_self()->filter.xleft), 9900 * 40 + 100);
	uint64_t now = mt_self()->filter.timed.samples;
	CHECK(now - timed >= 19 && now - timed <= 20);
	before = events();
	left = atomic_load(&mt_self()->filter.xleft);
	char *volatile p = calloc(3, 7);
	p = realloc(p, 100);
	volatile size_t most = SIZE_MAX - 4096;
	free(p);
	CHECK_EQ(left - atomic_load(&mt_self()->filter.xleft), 121);
	CHECK(!calloc(most, 3) && !malloc(most)); /* no events, but what was left may be used up */
	CHECK_EQ(events() - before, 3);
	set("sample", "0");
	CHECK_EQ(sums(false).live, exact.live);
	CHECK_EQ(losses(), 0);
}

TEST(what_is_left_out_by_size)
{
	struct block b;
	void *small, *large, *huge;

	set("min_size", "100");
	set("max_size", "5k");
	small = malloc(99);
	large = malloc(100);
	huge = malloc(5121);
	void *most = malloc(5120);
	CHECK(!mt_live_peek(small, &b));
	CHECK(mt_live_peek(large, &b) && b.size == 100);
	CHECK(!mt_live_peek(huge, &b));
	CHECK(mt_live_peek(most, &b) && b.size == 5120);
	small = realloc(small, 200);
	large = realloc(large, 50);
	CHECK(mt_live_peek(small, &b) && b.size == 200);
	CHECK(!mt_live_peek(large, &b));
	free(small);
	free(large);
	free(huge);
	free(most);
	CHECK_EQ(losses(), 0);
	CHECK(mt_conf_set("min_size", "6k", mt_filter_update) != NULL); /* would leave nothing */
	CHECK_EQ(mt_conf.min_size, 100);
	CHECK(mt_conf_set("sample", "often", mt_filter_update) != NULL);
	CHECK(mt_conf_set("libs", "a(", mt_filter_update) != NULL);
	CHECK(mt_conf_set("listen", "x", mt_filter_update) != NULL);
	CHECK(mt_conf_set("nothing", "x", mt_filter_update) != NULL);
}

static __attribute__((noinline, noipa)) bool is_recorded(size_t bytes)
{
	struct block b;
	void *p = malloc(bytes);
	bool known = mt_live_peek(p, &b);

	free(p);
	return known;
}

/* Also those of a stack that comes again and again, to which the usual path leads. */
TEST(remembered_stacks_meet_a_new_filter)
{
	for (volatile int round = 0; round < 4; round++) {
		bool filtered = round % 2;
		set("min_size", filtered ? "100" : "0");
		for (volatile int i = 0; i < 6; i++)
			CHECK_EQ(is_recorded(i % 2 ? 40 : 200), !filtered || i % 2 == 0);
	}
	CHECK_EQ(losses(), 0);
}

TEST(expressions_match_as_a_regex_does)
{
	/* clang-format off */
	static const struct { const char *regex, *text; bool matches; } rows[] = {
		{ "ssl", "libssl.so.3", true }, { "^ssl", "libssl.so.3", false },
		{ "^lib", "libssl.so.3", true }, { "so$", "libssl.so.3", false },
		{ "3$", "libssl.so.3", true }, { "", "anything", true }, { "a|b|c", "xxcxx", true },
		{ "a|b|c", "xxdxx", false }, { "^(a|bc|d)$", "bc", true },
		{ "^(a|bc|d)$", "d", true }, { "^(a|bc|d)$", "bcd", false },
		{ "lib(ssl|crypto)\\.so", "libcrypto.so", true },
		{ "lib(ssl|crypto)\\.so", "libcryptoXso", false }, { "a.c", "abc", true },
		{ "a.c", "ac", false }, { "^ab*c$", "ac", true }, { "^ab*c$", "abbbbc", true },
		{ "^ab+c$", "ac", false }, { "^ab+c$", "abbc", true }, { "^ab?c$", "abbc", false },
		{ "^(ab)*$", "ababab", true }, { "^(ab)*$", "ababa", false },
		{ "^(a*)*b$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaac", false }, { "[a-c]x", "bx", true },
		{ "[^a-c]x", "bx", false }, { "[]]", "]", true }, { "^[a-]$", "-", true },
		{ "a||b", "q", true }, { "(|a)b$", "b", true }, { "^(a|b)+c|d$", "abac", true },
		{ "^(a|b)+c|d$", "xd", true }, { "^(a|b)+c|d$", "xdx", false },
		{ "\\.", "a", false }, { "\xc3\xa9", "caf\xc3\xa9", true },
		{ "^x+|y+|z*$", "q", true },
	};
	/* clang-format on */
	static const char *const wrong[] = {
		"a(",  "a)",    "[a",
		"*a",  "a|+",   "a{2}",
		"a\\", "[z-a]", "((((((((((((((((((x))))))))))))))))))"
	};
	static struct regex r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK(!mtw_regex_compile(&r, rows[i].regex));
		if (mtw_regex_match(&r, rows[i].text) != rows[i].matches)
			printf("  %s on %s\n", rows[i].regex, rows[i].text);
		CHECK_EQ(mtw_regex_match(&r, rows[i].text), rows[i].matches);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(mtw_regex_compile(&r, wrong[i]) != NULL);
	char many[600];
	memset(many, 'a', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	CHECK(mtw_regex_compile(&r, many) != NULL);
}

static void *(*libc_malloc)(size_t);

static void *fails_at_20000(size_t n)
{
	return n == 20000 ? NULL : libc_malloc(n);
}

static uint64_t weighed_bytes(void)
{
	uint64_t bytes = 0;

	for (slot_id id = 1; id < mt_slots_count(); id++) {
		struct tally t;
		mt_slots_sum(id, &t);
		bytes += mt_slots_at(id)->rate ? t.alloc_bytes : 0;
	}
	return bytes;
}

/* 200 MB of small blocks, in some 3,050 samples: a standard deviation is 2 %. */
TEST(failed_allocations_leave_estimates_unbiased)
{
	enum { SMALL = 200000, SMALL_BYTES = 1000 };

	wake();
	set("sample", "64k");
	libc_malloc = mt_real.malloc;
	mt_real.malloc = fails_at_20000;
	uint64_t before = weighed_bytes();
	for (volatile int i = 0; i < SMALL; i++) {
		void *volatile none = malloc(20000), *volatile p = malloc(SMALL_BYTES);
		CHECK(!none);
		free(p);
	}
	uint64_t counted = weighed_bytes() - before, exact = (uint64_t)SMALL * SMALL_BYTES;
	CHECK(counted > exact / 10 * 9 && counted < exact / 10 * 11);
}
