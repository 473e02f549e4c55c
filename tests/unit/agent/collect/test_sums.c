/* SPDX-License-Identifier: MIT
 *
 * test_sums.c - central sums against the counters that they are the sums of, below 2^32 and past
 * it, and the change numbers of both.
 */
#include "base/state.h"
#include "check.h"
#include "collect/memory.h"
#include "collect/server.h"
#include "collect/sums.h"
#include "record/slots.h"
#include "record/thread.h"
#include "unwind/stacks.h"

#define SLOTS 300

static slot_id slot[SLOTS];
static struct tally is[SLOTS];

static struct server *make(void)
{
	struct server *s = calloc(1, sizeof(*s));

	memory_forget(); /* those of this program's own server did not come along the fork */
	CHECK(s && sums_init(&s->sums));
	for (unsigned i = 0; i < SLOTS; i++)
		slot[i] = mt_slots_of(mt_stacks_child(
			0, mt_stacks_code(0x1000 + i, MTW_NODE_NOWHERE), NEED_WHOLE));
	return s;
}

static void count(unsigned i, uint64_t blocks, uint64_t bytes)
{
	mt_slots_weighed(mt_thread_self(), slot[i], true, blocks, bytes);
	is[i].alloc_blocks += blocks;
	is[i].alloc_bytes += bytes;
}

static void all_are_right(struct server *s)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct sum room;
		const struct sum *sum = sums_at(&s->sums, slot[i], &room);
		CHECK(!sum == !is[i].alloc_blocks);
		CHECK(!sum || !memcmp(&sum->now, &is[i], sizeof(is[i])));
	}
}

static uint32_t changed_at(struct server *s, unsigned i)
{
	struct sum room;
	const struct sum *sum = sums_at(&s->sums, slot[i], &room);

	return sum ? sum->changed : 0;
}

TEST(below_and_past_32_bits)
{
	struct server *s = make();

	for (unsigned i = 0; i < SLOTS; i += 2)
		count(i, i + 1, 1000 * i);
	sums_pass(s, false);
	all_are_right(s);
	uint32_t first = s->sums.pass;
	CHECK_EQ(changed_at(s, 2), first);
	count(100, 1, (UINT64_C(1) << 32) - 100000 - 1); /* the most that fits */
	sums_pass(s, false);
	all_are_right(s);
	count(100, 1, 1);
	sums_pass(s, false);
	all_are_right(s);
	CHECK_EQ(changed_at(s, 100), s->sums.pass);
	CHECK_EQ(changed_at(s, 2), first);
	count(2, UINT64_C(1) << 40, 7);
	sums_touch(&s->sums, slot[4]);
	sums_pass(s, false);
	all_are_right(s);
	CHECK_EQ(changed_at(s, 2), s->sums.pass);
	CHECK_EQ(changed_at(s, 4), s->sums.pass);
	CHECK_EQ(changed_at(s, 6), first);
	CHECK_EQ(changed_at(s, 7), 0);
}
