/* SPDX-License-Identifier: MIT
 *
 * test_presence.c - rows that come and go by chance are no change; those that hold more are.
 */
#include "check.h"
#include "made_side.h"

#include "diff/presence.h"

#define SIDES 6u

static void sides_new(struct side *sides[SIDES])
{
	for (uint32_t i = 0; i < SIDES; i++)
		sides[i] = made_side(i + 1);
}

static struct diff *diff_of(struct side *const sides[SIDES], size_t count)
{
	static const struct side *list[SIDES];

	for (size_t i = 0; i < count; i++)
		list[i] = sides[i];
	return diff_new(list, count / 2, count, DIFF_LIVE);
}

/* The call sites that changed. */
static size_t changes(const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sites.count; i++)
		n += d->sites.list[i].kind != DIFF_SAME && !d->sites.list[i].noise;
	return n;
}

/* "1" = the session has it */
static void put(struct side *const sides[SIDES], const char *stack, const char *in, uint64_t bytes)
{
	for (size_t i = 0; i < SIDES; i++)
		if (in[i] == '1')
			made_stack(sides[i], stack, 1, bytes);
}

TEST(a_new_row_of_a_program_without_chance_is_a_change)
{
	struct side *sides[SIDES];

	sides_new(sides);
	put(sides, "main;load", "111111", 1000);
	put(sides, "main;leak", "000111", 10);
	CHECK_EQ(changes(diff_of(sides, SIDES)), 1);
}

TEST(a_new_row_no_larger_than_those_that_come_and_go_is_none)
{
	static const struct {
		const char *in;
		uint64_t bytes;
		size_t changes;
	} all[] = {
		{ "000111", 100, 0 },
		{ "111000", 100, 0 },
		{ "000111", 101, 1 },
		{ "111000", 101, 1 },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct side *sides[SIDES];

		sides_new(sides);
		put(sides, "main;load", "111111", 1000);
		put(sides, "main;chunk", "010110", 100);
		put(sides, "main;leak", all[i].in, all[i].bytes);
		CHECK_EQ(changes(diff_of(sides, SIDES)), all[i].changes);
	}
}

TEST(what_comes_and_goes_in_another_library_says_nothing)
{
	struct side *sides[SIDES];

	sides_new(sides);
	put(sides, "main;chunk@libx.so", "010110", 100);
	put(sides, "main;leak", "000111", 100);
	CHECK_EQ(changes(diff_of(sides, SIDES)), 1);
}

/* Of 200 diffs of one program whose ten call sites are there by a coin's throw. */
TEST(chance_is_rarely_a_change)
{
	size_t with_a_change = 0, by_ranges = 0;
	char in[SIDES + 1] = "", stack[32];

	srand(11);
	for (unsigned round = 0; round < 200; round++) {
		struct side *sides[SIDES];
		bool apart = false;

		sides_new(sides);
		for (unsigned site = 0; site < 10; site++) {
			for (size_t i = 0; i < SIDES; i++)
				in[i] = rand() % 2 ? '1' : '0';
			snprintf(stack, sizeof stack, "main;chunk%u", site);
			put(sides, stack, in, 100);
			apart |= !strcmp(in, "000111") || !strcmp(in, "111000");
		}
		by_ranges += apart;
		struct diff *d = diff_of(sides, SIDES);
		with_a_change += changes(d) > 0;
		diff_free(d);
		for (size_t i = 0; i < SIDES; i++)
			side_free(sides[i]);
	}
	CHECK(by_ranges > 20);
	CHECK(with_a_change <= 2);
}

TEST(the_most_that_comes_and_goes_among_baselines)
{
	struct side *sides[SIDES];
	static const struct side *list[4];

	sides_new(sides);
	put(sides, "main;load", "111100", 1000);
	put(sides, "main;chunk", "010000", 100);
	put(sides, "main;other", "011100", 50);
	put(sides, "main;leak", "000100", 70);
	for (size_t i = 0; i < 4; i++)
		list[i] = sides[i];
	struct diff *d = diff_new(list, 3, 4, DIFF_LIVE);
	CHECK_EQ(presence_most(d, &d->sites.list[0]), 100);
	diff_free(d);
}
