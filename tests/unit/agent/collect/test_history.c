/* SPDX-License-Identifier: MIT
 *
 * test_history.c - history: bounded, thinned by doubling, encoded as wire.h says, largest owners
 * kept.
 */
#include "check.h"
#include "collect/history.h"
#include "collect/memory.h"
#include "collect/server.h"

static struct server *make(void)
{
	struct server *s = calloc(1, sizeof(*s));

	memory_forget(); /* those of this program's own server did not come along the fork */
	s->sums.module_live = calloc(MTW_MODULES_MAX, sizeof(*s->sums.module_live));
	CHECK(history_init(s));
	return s;
}

/* One call each 100 ms, as the server makes them. */
static void run(struct server *s, unsigned ticks)
{
	for (unsigned i = 0; i < ticks; i++) {
		s->sums.totals.alloc_bytes += 10;
		s->sums.totals.alloc_blocks++;
		history_point(s, (uint64_t)(i + 1) * 100 * MILLI, false);
	}
}

TEST(thinned_by_doubling)
{
	struct server *s = make();

	run(s, 100000);
	const struct history *h = s->history;
	CHECK(h->points > HISTORY_POINTS / 2 - 2);
	CHECK(h->points <= HISTORY_POINTS);
	CHECK_EQ(h->point[0].time_ns, 100 * MILLI);
	for (uint32_t i = 1; i < h->points; i++) {
		uint64_t gap = h->point[i].time_ns - h->point[i - 1].time_ns;
		CHECK(gap >= h->interval_ns / 2 && gap <= 2 * h->interval_ns);
		CHECK_EQ(h->point[i].alloc_bytes, h->point[i].time_ns / (100 * MILLI) * 10);
	}
	CHECK(h->point[h->points - 1].time_ns + 2 * h->interval_ns > 100000ull * 100 * MILLI);
}

TEST(largest_owners_are_sent)
{
	struct server *s = make();
	uint8_t buf[196608];

	s->sums.modules_seen = 60;
	for (unsigned m = 0; m < 60; m++)
		s->sums.module_live[m] = (m + 1) * 1000;
	run(s, 2000);
	size_t len = history_encode(s, buf, sizeof(buf));
	struct mtw_in in = { buf, buf + len, false };
	CHECK_EQ(mtw_get(&in), s->history->interval_ns);
	CHECK_EQ(mtw_get(&in), MTW_HISTORY_OWNERS_MAX);
	for (unsigned i = 0; i < MTW_HISTORY_OWNERS_MAX; i++)
		CHECK_EQ(mtw_get(&in), 59 - i);
	uint64_t points = mtw_get(&in);
	CHECK_EQ(points, s->history->points);
	for (uint64_t p = 0; p < points; p++)
		for (unsigned field = 0; field < 7 + MTW_HISTORY_OWNERS_MAX; field++) {
			uint64_t v = mtw_get(&in);
			if (field >= 7)
				CHECK_EQ(v, (60 - (field - 7)) * 1000);
		}
	CHECK(!in.bad);
	CHECK(in.at == in.end);
}

TEST(fewer_owners_when_short_of_room)
{
	struct server *s = make();
	uint8_t buf[196608];

	s->sums.modules_seen = 16;
	for (unsigned m = 0; m < 16; m++)
		s->sums.module_live[m] = 1ll << 40;
	run(s, 3000);
	size_t all = history_encode(s, buf, sizeof(buf));
	size_t some = history_encode(s, buf, all / 2);
	CHECK(some > 0 && some <= all / 2);
	CHECK_EQ(history_encode(s, buf, 16), 0);
}
