/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "made_side.h"

/* Of one stack a side, with other amounts: how the two are joined. */
static enum join_by joined(struct side *a, const char *stack_a, struct side *b, const char *stack_b)
{
	made_stack(a, stack_a, 1, 100);
	made_stack(b, stack_b, 2, 200);
	struct diff *d = made_diff(a, b);
	enum join_by by = d->join->list[0].by;

	CHECK_EQ(d->stacks.count, by == JOIN_NOT ? 2 : 1);
	diff_free(d);
	side_free(a);
	side_free(b);
	return by;
}

static enum join_by joined_by(const char *stack_a, const char *stack_b)
{
	return joined(made_side(1), stack_a, made_side(2), stack_b);
}

TEST(other_builds_by_function_names)
{
	static const struct {
		const char *a, *b;
		enum join_by by;
	} cases[] = {
		{ "main+10;load+20", "main+14;load+90", JOIN_NAMES },
		{ "main;load", "main;store", JOIN_NOT },
		{ "main;load", "main;load;load2", JOIN_NOT },
		{ "main;load;read", "main;load>read", JOIN_NAMES },
		{ "main>load>read", "main;load;read", JOIN_NAMES },
		{ "main;load.isra.0", "main;load", JOIN_NAMES },
		{ "main;load.constprop.1.cold", "main;load.part.3", JOIN_NAMES },
		{ "main;load.llvm.1234567", "main;load.llvm.89", JOIN_NAMES },
		{ "main;f<int>(int) [clone .isra.0]", "main;f<int>(int)", JOIN_NAMES },
		{ "main;f<int>(int)", "main;f<long>(long)", JOIN_NOT },
		{ "main;a::b::h0123456789abcdef", "main;a::b::hfedcba9876543210", JOIN_NAMES },
		{ "main;load.part.0;load", "main;load", JOIN_OUTLINE },
		{ "main;walk;walk;walk", "main;walk", JOIN_OUTLINE },
		{ "main;load>read", "main;load", JOIN_OUTLINE },
		{ "main;?@libx.so.1+10", "main;?@libx.so.2+20", JOIN_NAMES },
		{ "main;?@libx.so.1+10", "main;?@liby.so.1+10", JOIN_NOT },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		printf("  %s | %s\n", cases[i].a, cases[i].b);
		CHECK_EQ(joined_by(cases[i].a, cases[i].b), cases[i].by);
	}
}

/* A function of one unit, by two compilers: with its parameters, and without. */
TEST(local_functions_by_their_short_name)
{
	static const struct {
		const char *a, *b;
		enum join_by by;
	} cases[] = {
		{ "main;keep(int)", "main;keep", JOIN_NAMES },
		{ "main;split(int)>keep", "main;split(int)>keep(char const*)", JOIN_NAMES },
		{ "main;keep", "main;(anonymous namespace)::keep()", JOIN_NAMES },
		{ "main;keep", "main;Table::keep(int)", JOIN_NOT },
		{ "main;keep", "main;keep(int);keep(long)", JOIN_NOT },
		{ "main;keep(int);keep", "main;keep(int);keep(int)", JOIN_NOT },
		{ "main;keep(int)", "main;keep(long)", JOIN_NOT },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct side *a = made_side(1), *b = made_side(2);

		printf("  %s | %s\n", cases[i].a, cases[i].b);
		made_file = made_keep("x.cc");
		CHECK_EQ(joined(a, cases[i].a, b, cases[i].b), cases[i].by);
		made_file = NULL;
	}
}

TEST(one_build_by_offset)
{
	static const struct {
		const char *a, *b;
		enum join_by by;
	} cases[] = {
		{ "main+10;load+20", "main+10;load+20", JOIN_OFFSETS },
		{ "main+10;load+20", "main+10;load+24", JOIN_NOT },
		{ "main+10;?+20", "main+10;load+20", JOIN_OFFSETS }, /* stripped */
		{ "main+10;x@libx.so+1", "main+10;x@libx.so+2", JOIN_NAMES },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct side *a = made_side(1), *b = made_side(2);
		printf("  %s | %s\n", cases[i].a, cases[i].b);
		made_module(a, "prog", "b1");
		made_module(b, "prog", "b1");
		CHECK_EQ(joined(a, cases[i].a, b, cases[i].b), cases[i].by);
	}
}

TEST(names_come_from_the_session_that_has_them)
{
	struct side *a = made_side(1), *b = made_side(2);
	struct join_frame frames[8];

	made_module(a, "prog", "b1");
	made_module(b, "prog", "b1");
	made_stack(a, "main+10;load+20", 1, 100);
	made_stack(b, "?+10;?+20", 1, 100);
	made_stack(b, "?+10;?+30", 1, 100);
	struct diff *d = made_diff(a, b);
	CHECK_EQ(d->stacks.count, 2);
	CHECK_EQ(join_frames(d->join, 0, frames, 8), 2);
	CHECK_STR(frames[0].function, "load");
	CHECK(frames[0].site);
	CHECK_EQ(join_frames(d->join, 1, frames, 8), 2);
	CHECK(!frames[0].function);
	CHECK_STR(frames[1].function, "main");
}

TEST(inlined_frames_do_not_count_where_one_build_lacks_them)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main;load>read", 1, 100);
	made_stack(a, "main;load", 1, 10);
	made_stack(b, "main;load", 2, 110);
	made_module(b, "prog", NULL);
	b->modules[0].lines = false;
	struct diff *d = made_diff(a, b);
	CHECK_EQ(d->stacks.count, 1);
	CHECK_EQ(d->stacks.list[0].kind, DIFF_SAME);
}

TEST(two_instants_of_one_run_by_what_was_recorded)
{
	struct side *a = made_side(1), *b = made_side(1);

	CHECK_EQ(joined(a, "main+10;walk+20", b, "main+10;walk+20"), JOIN_RUN);
	CHECK_EQ(joined(made_side(1), "main+10;walk+20", made_side(1), "main+10;walk+21"),
		 JOIN_NOT);
}

TEST(several_stacks_of_a_session_may_be_one_of_another_build)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main+10;load+20", 1, 100);
	made_stack(a, "main+10;load+30", 1, 100);
	made_stack(b, "main+10;load+20", 3, 300);
	struct diff *d = made_diff(a, b);
	CHECK_EQ(d->stacks.count, 1);
	CHECK_EQ(d->stacks.list[0].moved, 100);
	CHECK_EQ(d->stacks.list[0].kind, DIFF_GROWN);
}

/* By every grouping, and each session. */
static void sums_hold(const struct diff *d)
{
	const struct diff_rows *all[] = { &d->stacks, &d->owners, &d->sites };

	for (size_t k = 0; k < 3; k++) {
		int64_t moved = 0;
		for (size_t side = 0; side < d->sides_count; side++) {
			struct tally sum = { 0 };
			for (size_t i = 0; i < all[k]->count; i++)
				tally_add(&sum, &all[k]->list[i].sums[side]);
			CHECK(!memcmp(&sum, &d->sides[side]->totals, sizeof sum));
		}
		for (size_t i = 0; i < all[k]->count; i++)
			moved += all[k]->list[i].moved;
		CHECK_EQ(moved, d->totals.moved);
	}
}

TEST(sums_hold_for_any_sessions)
{
	static const char *const names[] = {
		"f",           "g",           "g.cold",    "h>f",      "f>g>h",
		"x@libx.so.1", "x@libx.so.2", "?@liby.so", "f.isra.0", "?"
	};
	const struct side *sides[6];

	srand(7);
	for (int round = 0; round < 200; round++) {
		size_t count = 2 + (size_t)rand() % 5, count_a = 1 + (size_t)rand() % (count - 1);
		for (size_t i = 0; i < count; i++) {
			struct side *s = made_side((uint32_t)i + 1);
			if (rand() % 2)
				made_module(s, "prog", rand() % 2 ? "b1" : "b2");
			for (int k = rand() % 12; k >= 0; k--) {
				char text[200] = "main";
				for (int depth = rand() % 5; depth >= 0; depth--) {
					char add[40];
					snprintf(add, sizeof add, ";%s+%x", names[rand() % 10],
						 rand() % 3);
					strcat(text, add);
				}
				made_stack(s, text, (uint64_t)rand() % 9 + 1,
					   (uint64_t)rand() % 999);
			}
			for (size_t m = 0; m < s->module_count; m++)
				s->modules[m].lines = rand() % 4 != 0;
			sides[i] = s;
		}
		struct diff *d = diff_new(sides, count_a, count, (enum diff_value)(rand() % 3));
		sums_hold(d);
		diff_free(d);
		for (size_t i = 0; i < count; i++)
			side_free((struct side *)(uintptr_t)sides[i]);
	}
}

TEST(rows_say_what_happened)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main;gone", 1, 50);
	made_stack(a, "main;same", 1, 10);
	made_stack(a, "main;less", 3, 30);
	made_stack(b, "main;less", 1, 10);
	made_stack(b, "main;same", 1, 10);
	made_stack(b, "main;new", 1, 100);
	struct diff *d = made_diff(a, b);
	sums_hold(d);
	CHECK_EQ(d->stacks.count, 4);
	CHECK_EQ(d->stacks.list[0].kind, DIFF_NEW);
	CHECK_EQ(d->stacks.list[1].kind, DIFF_GONE);
	CHECK_EQ(d->stacks.list[2].kind, DIFF_SHRUNK);
	CHECK_EQ(d->stacks.list[3].kind, DIFF_SAME);
	CHECK_EQ(d->owners.count, 1);
	CHECK_EQ(d->owners.list[0].moved, 30);
	CHECK_EQ(d->sites.count, 4);
	CHECK_STR(d->sites.list[0].name, "new");
	CHECK_STR(d->sites.list[0].caller, "main");
}

/* The innermost function and line of the first row, the one that changed most. */
static void first_shows(const struct diff *d, const char *function, uint32_t line, uint32_t among)
{
	struct join_frame frames[16];
	uint32_t stack = d->stacks.list[0].stack;

	CHECK(join_frames(d->join, stack, frames, 16) > 0);
	CHECK_STR(frames[0].name, function);
	CHECK_EQ(frames[0].line, line);
	CHECK_EQ(d->join->list[stack].among, among);
}

TEST(inlined_functions_that_allocate_are_told_apart)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main;parse>row>emplace", 10, 1000);
	made_stack(b, "main;parse>emplace", 10, 1000);
	made_stack(b, "main;parse>row", 5, 500);
	struct diff *d = made_diff(a, b);
	CHECK_EQ(d->stacks.count, 2);
	CHECK_EQ(d->stacks.list[0].kind, DIFF_NEW);
	CHECK_EQ(d->stacks.list[0].moved, 500);
	first_shows(d, "row", 0, 0);
	CHECK_STR(d->sites.list[0].name, "row");
}

TEST(of_several_inlined_ones_that_one_shows_which_changed)
{
	for (unsigned grows = 0; grows < 2; grows++) {
		struct side *less = made_side(1), *more = made_side(2);

		made_stack(less, "main;parse>get", 10, 1000);
		made_stack(more, "main;parse>emplace", 10, 1000);
		made_stack(more, "main;parse>row", 5, 500);
		made_stack(more, "main;parse>cell", 1, 100);
		struct diff *d = grows ? made_diff(less, more) : made_diff(more, less);
		CHECK_EQ(d->stacks.count, 1);
		CHECK_EQ(d->stacks.list[0].moved, grows ? 600 : -600);
		first_shows(d, "row", 0, 3);
	}
}

TEST(of_several_lines_that_one_shows_which_changed)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main;parse", 10, 1000);
	made_last(a)->line = 16;
	made_stack(b, "main;parse", 3, 300); /* the leak */
	made_last(b)->line = 20;
	made_stack(b, "main;parse", 10, 1000);
	made_last(b)->line = 17;
	struct diff *d = made_diff(a, b);
	CHECK_EQ(d->stacks.count, 1);
	CHECK_EQ(d->stacks.list[0].kind, DIFF_GROWN);
	first_shows(d, "parse", 20, 0);
}

TEST(the_functions_of_both_sides_when_the_amounts_are_equal)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main;load;make", 3, 300);
	made_stack(a, "main;save;make", 1, 10);
	made_stack(a, "main;save;old", 1, 20);
	made_stack(b, "main;load", 3, 300); /* make: a tail call */
	made_stack(b, "main;save", 1, 10);
	made_stack(b, "main;save;new", 2, 20);
	struct diff *d = made_diff(a, b);
	sums_hold(d);
	/* save's are three stacks with other amounts */
	CHECK_EQ(d->stacks.count, 5);
	CHECK_EQ(d->join->list[0].by, JOIN_COMMON);
	CHECK_EQ(d->totals.moved, 0);
}

/* "skip" is in both sides, but a tail call takes it away in one stack. */
TEST(the_functions_of_one_side_are_a_part_of_the_others)
{
	struct side *a = made_side(1), *b = made_side(2);

	made_stack(a, "main;skip", 1, 7);
	made_stack(b, "main;skip", 1, 7);
	made_stack(a, "main;load;skip;make", 3, 300);
	made_stack(b, "main;load;make", 3, 300);
	made_stack(a, "main;save;load", 2, 40); /* another order */
	made_stack(b, "main;load;save", 2, 40);
	made_stack(a, "main;save;skip;make", 5, 50); /* other amounts */
	made_stack(b, "main;save;make", 5, 60);
	struct diff *d = made_diff(a, b);
	sums_hold(d);
	CHECK_EQ(d->stacks.count, 6);
	CHECK_EQ(d->join->list[1].by, JOIN_COMMON);
	for (uint32_t i = 0; i < a->stack_count; i++) /* each stack knows where it went */
		CHECK_EQ(d->join->of_stack[0][i] == d->join->of_stack[1][i], i < 2);
	CHECK_EQ(d->totals.moved, 10);
}
