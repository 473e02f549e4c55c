/* SPDX-License-Identifier: MIT
 *
 * test_cohorts.c - scans of live blocks by slot, thread and age: parts, order, hostile peers.
 */
#include "check.h"
#include "made.h"
#include "model/state/cohorts.h"

/* How many a slot has; the bytes of the first one. */
static size_t of_slot(const struct cohorts *c, uint32_t slot, uint64_t *bytes)
{
	struct cohort_at at = cohorts_of_slot(c, slot);
	struct cohort x;
	size_t n = 0;

	for (; cohorts_next(c, &at, &x) && x.slot == slot; n++)
		*bytes = n ? *bytes : x.bytes;
	return n;
}

static int part(struct model *m, uint32_t flags, struct cohort *list, size_t count)
{
	struct event e = { .type = MTW_SCAN_COHORTS };

	e.u.cohorts.flags = flags;
	e.u.cohorts.time_ns = 7;
	e.u.cohorts.left_blocks = 3;
	e.u.cohorts.list = list;
	e.u.cohorts.count = count;
	return model_apply(m, &e, &made_err);
}

TEST(a_scan_is_there_when_it_is_whole)
{
	struct model *m = model_new();
	struct cohort one[] = { { 5, 1, 60, 2, 20 }, { 5, 2, 0, 1, 10 } },
		      two[] = { { 3, 1, 1, 1, 1 }, { 9, 1, 1, 4, 4 } };
	struct cohort_at at = { 0 };
	struct cohort x;
	uint32_t slot = 0;
	uint64_t bytes = 0;

	CHECK(!model_cohorts(m));
	CHECK_EQ(part(m, MTW_PART_FIRST, one, 2), 0);
	CHECK(!model_cohorts(m));
	CHECK_EQ(part(m, MTW_PART_LAST, two, 2), 0); /* whose slots begin again */
	const struct cohorts *c = model_cohorts(m);
	CHECK(c && c->count == 4 && c->time_ns == 7 && c->left_blocks == 3);
	for (; cohorts_next(c, &at, &x); slot = x.slot)
		CHECK(x.slot >= slot);
	CHECK_EQ(slot, 9);
	CHECK_EQ(of_slot(c, 5, &bytes), 2);
	CHECK_EQ(bytes, 20);
	CHECK_EQ(of_slot(c, 3, &bytes), 1);
	CHECK_EQ(bytes, 1);
	CHECK_EQ(of_slot(c, 9, &bytes), 1);
	CHECK_EQ(of_slot(c, 4, &bytes), 0);
	CHECK_EQ(of_slot(c, 10, &bytes), 0);
	CHECK_EQ(model_cohort_scans(m), 1);
	/* One that was cut off by a new one; the old one stays until that is whole. */
	CHECK_EQ(part(m, MTW_PART_FIRST, one, 2), 0);
	CHECK_EQ(part(m, MTW_PART_FIRST | MTW_PART_LAST, two, 1), 0);
	CHECK_EQ(model_cohorts(m)->count, 1);
	CHECK_EQ(model_cohort_scans(m), 2);
	CHECK_EQ(part(m, MTW_PART_LAST, two, 2), 0); /* the rest of one that was given up */
	CHECK_EQ(model_cohorts(m)->count, 1);
	CHECK_EQ(part(m, MTW_PART_FIRST | MTW_PART_LAST, NULL, 0), 0); /* nothing is alive */
	CHECK_EQ(model_cohorts(m)->count, 0);
	model_clear(m);
	CHECK(!model_cohorts(m));
	model_free(m);
}

/* Also those of a slot that has more than a stride. */
TEST(each_slot_is_found_among_many)
{
	enum { SLOTS = 500, MANY = 150 };
	struct model *m = model_new();
	struct cohort *list = xcalloc(SLOTS + MANY, sizeof *list);
	size_t n = 0;
	uint64_t bytes = 0;

	for (uint32_t s = 1; s <= SLOTS; s++)
		for (uint32_t i = 0; i < (s == 77 ? MANY : s % 3 ? 1 : 0) && n < SLOTS + MANY; i++)
			list[n++] = (struct cohort){ 3 * s, i, i, 1, s };
	CHECK_EQ(part(m, MTW_PART_FIRST | MTW_PART_LAST, list, n), 0);
	for (uint32_t s = 1; s <= SLOTS; s++) {
		CHECK_EQ(of_slot(model_cohorts(m), 3 * s, &bytes), s == 77 ? MANY : s % 3 ? 1 : 0);
		CHECK(s % 3 == 0 || bytes == s);
		CHECK_EQ(of_slot(model_cohorts(m), 3 * s + 1, &bytes), 0);
	}
	free(list);
	model_free(m);
}

TEST(a_scan_without_end_is_refused)
{
	struct model *m = model_new();
	struct cohort *many = xcalloc(65536, sizeof *many);
	int refused = 0;

	for (int i = 0; i < 100 && !refused; i++)
		refused = part(m, i ? 0 : MTW_PART_FIRST, many, 65536);
	CHECK(refused);
	free(many);
	model_free(m);
}
