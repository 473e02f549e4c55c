/* SPDX-License-Identifier: MIT
 *
 * test_batch.c - events that wait come out as they went in.
 */
#include "check.h"
#include "random.h"

#include "heap/take.h"

#include <string.h>

static uint64_t some_number(void)
{
	return ((uint64_t)below(1u << 31) << 33 | (uint64_t)below(1u << 31) << 2 | below(4)) >>
	       below(64);
}

static struct heap_event some_event(unsigned type)
{
	struct heap_event e = { .type = (uint8_t)type, .on = below(2) };

	e.id = (uint32_t)some_number();
	if (type == HEAP_NODE || type == HEAP_SLOT)
		e.of = (uint32_t)some_number();
	if (e.of || type == HEAP_CELL || type == HEAP_EPOCH)
		e.number = some_number();
	if (type == HEAP_COUNTS || type == HEAP_PEAK_CELL || type == HEAP_PEAK_WHOLE ||
	    type == HEAP_RATE)
		e.t = (struct tally){ some_number(), some_number(), some_number(), UINT64_MAX };
	return e;
}

static bool same(const struct heap_event *a, const struct heap_event *b)
{
	return a->type == b->type && a->on == b->on && a->id == b->id && a->of == b->of &&
	       a->number == b->number && !memcmp(&a->t, &b->t, sizeof a->t);
}

TEST(events_come_out_as_they_went_in)
{
	enum { COUNT = 5000 };
	static struct heap_event list[COUNT];
	struct heap_batch b = { 0 };
	struct heap_event e;

	seed = 7;
	for (unsigned round = 0; round < 2; round++) {
		struct heap_batch_at at = { 0 };

		for (unsigned i = 0; i < COUNT; i++) {
			list[i] = some_event(i % (HEAP_EPOCH + 1));
			heap_put(&b, &list[i]);
		}
		CHECK_EQ(b.count, COUNT);
		for (unsigned i = 0; i < COUNT; i++)
			CHECK(heap_next(&b, &at, &e) && same(&e, &list[i]));
		CHECK(!heap_next(&b, &at, &e));
		heap_batch_empty(&b, 1 << 20);
		CHECK_EQ(b.count + b.len, 0);
		CHECK(b.room > 0);
	}
	heap_put(&b, &list[0]);
	heap_batch_empty(&b, 1000);
	CHECK_EQ(b.room, 0);
	heap_batch_release(&b);
}

/* A tick of a busy program, each of whose counters moved a little. */
TEST(what_waits_is_small)
{
	struct heap_batch b = { 0 };

	for (uint32_t i = 0; i < 1000; i++)
		heap_put(&b, &(struct heap_event){ .type = HEAP_COUNTS,
						   .id = 1000000 + 20 * i,
						   .t = { 90, 9000, 80, 8000 } });
	CHECK(b.len < 1000 * sizeof(struct heap_event) / 5);
	heap_batch_release(&b);
}
