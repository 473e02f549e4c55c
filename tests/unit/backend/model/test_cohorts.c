/* SPDX-License-Identifier: MIT
 *
 * test_cohorts.c - scans of live blocks by slot, thread and age: parts, order, hostile peers.
 */
#include "check.h"
#include "made.h"
#include "model/state/cohorts.h"

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
	const struct cohort *x;

	CHECK(!model_cohorts(m));
	CHECK_EQ(part(m, MTW_PART_FIRST, one, 2), 0);
	CHECK(!model_cohorts(m));
	CHECK_EQ(part(m, MTW_PART_LAST, two, 2), 0); /* whose slots begin again */
	const struct cohorts *c = model_cohorts(m);
	CHECK(c && c->count == 4 && c->time_ns == 7 && c->left_blocks == 3);
	for (size_t i = 1; i < c->count; i++)
		CHECK(c->list[i].slot >= c->list[i - 1].slot);
	CHECK_EQ(cohorts_of_slot(c, 5, &x), 2);
	CHECK_EQ(x[0].slot, 5);
	CHECK_EQ(cohorts_of_slot(c, 3, &x), 1);
	CHECK_EQ(x->bytes, 1);
	CHECK_EQ(cohorts_of_slot(c, 9, &x), 1);
	CHECK_EQ(cohorts_of_slot(c, 4, &x), 0);
	CHECK_EQ(cohorts_of_slot(c, 10, &x), 0);
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
