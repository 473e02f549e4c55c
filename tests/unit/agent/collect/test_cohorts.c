/* SPDX-License-Identifier: MIT
 *
 * test_cohorts.c - live blocks by slot, thread and age: sums, parts, and a bound.
 */
#include "check.h"
#include "base/types.h"
#include "collect/cohorts.h"
#include "collect/memory.h"
#include "collect/server.h"
#include "record/slots.h"

struct told {
	uint64_t blocks, bytes, left_blocks, left_bytes, cohorts, parts;
	uint32_t last_slot;
	bool ascending, first, last;
};

static void read_part(struct told *t, const uint8_t *buf, size_t len)
{
	struct mtw_in in = { buf, buf + len, false };
	uint64_t slot = 0;

	CHECK_EQ(mtw_get(&in), 42);
	uint64_t flags = mtw_get(&in);
	CHECK_EQ((flags & MTW_PART_FIRST) != 0, !t->parts);
	t->last = flags & MTW_PART_LAST;
	mtw_get(&in);
	t->left_blocks = mtw_get(&in);
	t->left_bytes = mtw_get(&in);
	for (uint64_t n = mtw_get(&in); n; n--) {
		slot += mtw_get(&in);
		t->ascending &= slot >= t->last_slot;
		t->last_slot = (uint32_t)slot;
		mtw_get(&in);
		mtw_get(&in);
		t->blocks += mtw_get(&in);
		t->bytes += mtw_get(&in);
		t->cohorts++;
	}
	CHECK(!in.bad && in.at == in.end);
	t->parts++;
}

static struct told read_all(const struct cohorts *c, size_t size)
{
	static uint8_t buf[SCRATCH_BYTES];
	struct told t = { .ascending = true };
	struct cohorts_at at = { 0 };

	while (!at.whole)
		read_part(&t, buf, cohorts_encode(c, &at, 42, buf, size));
	CHECK(t.last);
	return t;
}

static void have_slots(uint32_t count)
{
	memory_forget(); /* what the parent's server has is not here */
	while (mt_slots_count() < count)
		CHECK(mt_slots_new(0, 0, 0));
}

TEST(blocks_that_are_alike_are_one_cohort)
{
	have_slots(100);
	struct cohorts *c = cohorts_new();

	CHECK(c);
	for (uint32_t i = 0; i < 3000; i++)
		cohorts_add(c, 1 + i % 3 * 40, &(struct block){ 10, 0, 0, i % 2 }, 1);
	cohorts_add(c, 7, &(struct block){ 100, 0, 0, 1 }, 5); /* sampled: stands for five */
	for (size_t size = COHORTS_PART_LEAST; size <= SCRATCH_BYTES;
	     size += SCRATCH_BYTES - COHORTS_PART_LEAST) {
		struct told t = read_all(c, size);
		CHECK_EQ(t.cohorts, 7);
		CHECK_EQ(t.blocks, 3005);
		CHECK_EQ(t.bytes, 30500);
		CHECK_EQ(t.left_blocks, 0);
		CHECK(t.ascending);
	}
	cohorts_free(c);
	c = cohorts_new();
	CHECK_EQ(read_all(c, COHORTS_PART_LEAST).parts, 1); /* nothing is alive: said, too */
	cohorts_free(c);
}

TEST(what_there_is_no_room_for_is_said)
{
	enum { MANY = 700000, ROOM = 1 << 19 };
	have_slots(MANY + 1);
	struct cohorts *c = cohorts_new();

	for (uint32_t i = 1; i <= MANY; i++)
		cohorts_add(c, i, &(struct block){ 3, 0, 0, 1 }, 1);
	/* a slot that came meanwhile */
	cohorts_add(c, mt_slots_count() + 9, &(struct block){ 1000, 0, 0, 1 }, 1);
	cohorts_add(c, 1, &(struct block){ 3, 0, 0, 1 }, 1);
	struct told t = read_all(c, SCRATCH_BYTES);
	CHECK_EQ(t.cohorts, ROOM);
	CHECK_EQ(t.blocks, ROOM + 1);
	CHECK_EQ(t.left_blocks, MANY - ROOM + 1);
	CHECK_EQ(t.left_bytes, 3 * (MANY - ROOM) + 1000);
	CHECK(t.ascending && t.parts > 3);
	cohorts_free(c);
}

TEST(ages_are_told_in_steps)
{
	CHECK_EQ(mtw_age_step(0), 0);
	CHECK_EQ(mtw_age_step(31), 31);
	CHECK_EQ(mtw_age_step(33), 32);
	CHECK_EQ(mtw_age_step(65), 64);
	CHECK_EQ(mtw_age_step(1000), 992);
	CHECK_EQ(mtw_age_step(UINT32_MAX), 0xf8000000);
	for (uint32_t s = 1; s < 1000000; s += 7)
		CHECK(mtw_age_step(s) <= s && s - mtw_age_step(s) <= s / 16);
}
