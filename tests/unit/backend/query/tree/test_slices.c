/* SPDX-License-Identifier: MIT
 *
 * test_slices.c - rows of many call paths: built in slices, and the cost of a tick and of a name.
 */
#include "check.h"
#include "made_query.h"

/* A row of many members is summed in slices; data that arrives meanwhile counts once. */
TEST(values_that_are_made_in_slices_follow_what_arrives)
{
	struct session x;
	const struct row *r;
	struct err err;
	uint64_t want = 0;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i < 400; i++) { /* 400 callers of one function */
		char name[16];
		snprintf(name, sizeof name, "caller_%u", i);
		node(&x, 1000 + i, 1, 0, name);
		made_node(x.m, 10 + i, 1000 + i, 1, 16);
		grow(&x, 10 + i, 1, 1000);
	}
	made_symbol(&x.s, 1, 16, "allocate");
	tick(&x, SECOND);
	query_set_inverted(x.q, true);
	for (int round = 0; query_building(x.q) >= 0 || round < 400; round++) {
		query_allow(x.q, 40);
		query_rows(x.q, true, &r);
		CHECK(round < 5000);
		if (round < 350 && round % 3 == 0) {
			grow(&x, 10 + (uint32_t)round * 7 % 400, 1, 10);
			tick(&x, SECOND / 100);
		}
		if (round < 300 && round % 100 == 80) /* all values anew */
			CHECK_EQ(model_set_interval(x.m, 0, 0), 0);
		/* ... of half of them, and again before they are whole */
		if (round < 300 && round % 9 == 2)
			CHECK_EQ(query_set_filter(x.q, round % 2 ? "size>1000" : "", &err), 0);
	}
	CHECK_EQ(query_rows(x.q, true, &r), 1);
	CHECK_STR(r[0].name, "allocate");
	for (uint32_t i = 10; i < 410; i++) { /* the filter is on at last */
		const struct tally self = model_self(x.m, model_node(x.m, i));
		want += live_bytes(&self) > 1000 ? live_bytes(&self) : 0;
	}
	CHECK_EQ(live_bytes(&r[0].amounts.sum), want);
	CHECK_EQ(r[0].paths, 400);
	end(&x);
}

/* A tick that changes much is not walked into the tree stack by stack: rows are summed up again. */
TEST(a_busy_tick_costs_little)
{
	enum { STACKS = 300, DEPTH = 20 };
	struct session x;
	const struct row *rows;
	uint32_t id = 1, leaves[STACKS];
	unsigned slices = 0;
	char names[STACKS][16];

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (int i = 0; i < STACKS; i++) {
		snprintf(names[i], sizeof names[i], "way_%d", i);
		for (int k = 0; k < DEPTH; k++, id++)
			node(&x, id + 1, k ? id : 1, 0, k ? "deep" : names[i]);
		leaves[i] = id;
		grow(&x, id, 1, i ? 100 : 10000000);
	}
	tick(&x, SECOND);
	screen(&x, true);
	for (int i = 0; i < STACKS; i++)
		grow(&x, leaves[i], 1, 50);
	tick(&x, SECOND);
	do {
		query_allow(x.q, 500);
		query_rows(x.q, false, &rows);
		slices++;
	} while (query_building(x.q) >= 0);
	CHECK(slices <= 6);
	CHECK_EQ(live_bytes(&rows[0].amounts.sum), 10000000 + 100 * (STACKS - 1) + 50 * STACKS);
	end(&x);
}

/* What there is time for is done, and of what there is none for, some. */
TEST(a_slice_ends_with_its_time)
{
	enum { STACKS = 200000 };
	struct session x;
	const struct row *rows;
	struct err err;
	unsigned late = 0;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i < STACKS; i++) {
		made_node(x.m, 2 + i, 1, 0, 8 * (2 + i));
		grow(&x, 2 + i, 1, 10);
	}
	tick(&x, SECOND);
	CHECK_EQ(query_set_filter(x.q, "size>1", &err), 0);
	do {
		query_allow_until(x.q, 1); /* that is long past */
		query_rows(x.q, true, &rows);
		CHECK(++late < 1000);
	} while (query_building(x.q) >= 0);
	CHECK(late > 5);
	CHECK_EQ(query_set_filter(x.q, "size>9", &err), 0);
	query_allow_until(x.q, UINT64_MAX);
	query_rows(x.q, true, &rows);
	CHECK_EQ(query_building(x.q), -1);
	CHECK_EQ(live_bytes(&rows[0].amounts.sum), 10 * STACKS);
	end(&x);
}

enum { MANY = 20000 };

/* main > many, MANY stacks at one place; main > few, another place without a name yet. */
static void many_and_few(struct session *x)
{
	begin(x);
	node(x, 1, 0, 0, "main");
	node(x, 2, 1, 0, "many");
	node(x, 3, 1, 0, NULL);
	made_symbol(&x->s, 1, 5000, "leaf");
	for (uint32_t i = 0; i < MANY; i++) {
		made_node(x->m, 4 + i, 2, 1, 5000);
		grow(x, 4 + i, 1, 10);
	}
	grow(x, 3, 1, 2 * MANY);
	tick(x, SECOND);
}

/* A name that the filter matches as little as what stood for it leaves all that passes as it is. */
TEST(names_that_change_nothing_begin_no_filter_anew)
{
	struct session x;
	const struct row *rows;
	struct err err;

	many_and_few(&x);
	CHECK_EQ(query_set_filter(x.q, "leaf", &err), 0);
	CHECK_EQ(query_rows(x.q, true, &rows), 1);
	made_answer(&x.s, 0, 3 * 16, SYMBOL_TABLE, "few");
	query_allow(x.q, 200);
	query_rows(x.q, true, &rows);
	CHECK_EQ(query_building(x.q), -1);
	CHECK_EQ(live_bytes(&rows[0].amounts.sum), 10 * MANY);
	made_answer(&x.s, 0, 3 * 16, SYMBOL_DWARF, "leaf|few"); /* and one that does adds its own */
	query_allow(x.q, 200);
	query_rows(x.q, true, &rows);
	CHECK_EQ(query_building(x.q), -1);
	CHECK_EQ(live_bytes(&rows[0].amounts.sum), 12 * MANY);
	end(&x);
}

/* A name below a row groups that row again, and not what it did not touch. */
TEST(names_leave_rows_that_have_others)
{
	struct session x;
	const struct row *rows;

	many_and_few(&x);
	open_row(&x, "main");
	open_row(&x, "many > leaf");
	row_id many = row(&x, "many > leaf");
	made_answer(&x.s, 0, 3 * 16, SYMBOL_DWARF, "few");
	/* the members of "leaf" are looked through, not added up */
	query_allow(x.q, 2 * MANY + 200);
	query_rows(x.q, true, &rows);
	CHECK_EQ(query_building(x.q), -1);
	query_allow(x.q, SIZE_MAX);
	CHECK_EQ(row(&x, "many > leaf"), many);
	CHECK_EQ(live_bytes(&rows[query_index(x.q, row(&x, "few"))].amounts.sum), 2 * MANY);
	end(&x);
}
