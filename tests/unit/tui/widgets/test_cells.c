/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "widgets/list_view.h"

struct made {
	struct amounts amounts;
	const char *name;
	int64_t id;
	enum known known;
};

static struct made rows[] = {
	{ .name = "loom", .id = 17, .known = KNOWN },
	{ .name = "reed", .id = 4, .known = KNOWN_NONE },
	{ .name = "Heddle", .id = -9, .known = KNOWN },
};

static struct value number(const struct line *l)
{
	const struct made *m = l->row;

	return (struct value){ .n = m->id, .known = m->known };
}

static const char *text(const struct line *l, size_t i)
{
	return i ? NULL : ((const struct made *)l->row)->name;
}

enum { BY_ID = BY_OWN };

static COLUMN(id, "ID", 4, BY_ID, KIND_ID, .value = number);
static COLUMN(count, "COUNT", 4, -1, KIND_COUNT, .value = number);
static COLUMN(name, "NAME", 0, BY_NAME, KIND_OWN, .text = text);
static const struct table_column columns[] = { SHOW(id), SHOW(count), SHOW(name) };

static const struct table table = TABLE(VIEW_COUNT, columns, struct made, NULL, NULL, NULL);

static const struct list list = { .rows = rows };

/* Below 0: row a comes first. */
static int order(int sort, size_t a, size_t b)
{
	struct line x = { &rows[a], NULL, a, 0 }, y = { &rows[b], NULL, b, 0 };

	return column_compare(table_sorted_by(&table, sort), &x, &y);
}

/* What is not known is as nothing: neither first nor last. */
TEST(rows_are_ordered_by_the_value_of_a_column)
{
	CHECK(order(BY_ID, 0, 1) < 0);
	CHECK(order(BY_ID, 1, 2) < 0);
	CHECK(order(BY_ID, 2, 0) > 0);
	CHECK(order(BY_ID, 0, 0) == 0);
	CHECK(order(BY_NAME, 0, 1) < 0);
	CHECK(table_sorted_by(&table, BY_LIVE) == NULL);
}

TEST(a_search_finds_parts_of_texts_and_whole_known_ids)
{
	CHECK(table_finds(&table, &list, NULL, 0, "oo"));
	CHECK(table_finds(&table, &list, NULL, 2, "hedd"));
	CHECK(table_finds(&table, &list, NULL, 0, "17"));
	CHECK(!table_finds(&table, &list, NULL, 0, "1"));
	CHECK(!table_finds(&table, &list, NULL, 1, "4"));
	CHECK(!table_finds(&table, &list, NULL, 1, "loom"));
}

/* 0 and 100 % are only for none and all of it. */
TEST(a_small_part_is_not_none_and_a_large_one_not_all)
{
	CHECK_EQ(value_part(0, 7).n, 0);
	CHECK_EQ(value_part(7, 7).n, CELL_WHOLE);
	CHECK_EQ(value_part(0, 0).n, 0);
	CHECK_EQ(value_part(1, UINT64_MAX).n, 1);
	CHECK_EQ(value_part(UINT64_MAX - 1, UINT64_MAX).n, CELL_WHOLE - 1);
	CHECK_EQ(value_part(14, 7).n, 2 * CELL_WHOLE);
	CHECK(value_part(UINT64_MAX, 1).n > CELL_WHOLE);
}
