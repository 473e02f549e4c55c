/* SPDX-License-Identifier: MIT
 *
 * test_rss.c - the answers about resident memory that the model keeps.
 */
#include "check.h"
#include "made.h"

static void resident(struct model *m, uint64_t second, uint64_t live, uint64_t what)
{
	struct rss_read parts[] = {
		{ .what = MTW_MEMORY_LIVE, .bytes = live, .name = made_text("") },
		{ .what = what, .bytes = 7, .mappings = 2, .name = made_text("/lib/x") }
	};
	struct event e = { .type = MTW_SCAN_MEMORY };

	e.u.rss.time_ns = second * 1000000000;
	e.u.rss.parts = parts;
	e.u.rss.count = 2;
	made_apply(m, &e);
}

TEST(resident_memory_by_part)
{
	struct model *m = model_new();
	const struct rss *list;
	const struct rss_named *named;
	struct event none = { .type = MTW_SCAN_MEMORY };

	resident(m, 1, 100, MTW_MEMORY_FILE);
	resident(m, 3, 200, 99);                       /* of a later agent */
	resident(m, 5, UINT64_MAX, MTW_MEMORY_SHARED); /* no process has that */
	made_apply(m, &none); /* it could not find out: what is known stays */
	CHECK_EQ(model_rss(m, &list), 3);
	CHECK_EQ(model_answers(m, MTW_KIND_MEMORY), 4);
	CHECK_EQ(list[0].bytes[MTW_MEMORY_FILE], 7);
	CHECK_EQ(list[0].mappings[MTW_MEMORY_FILE], 2);
	CHECK_EQ(list[1].bytes[MTW_MEMORY_OTHER], 7);
	CHECK_EQ(list[2].bytes[MTW_MEMORY_LIVE], 0);
	model_free(m);

	/* Thousands of them: a bounded number stays, with the first, the newest, and the one next
	 * to a mark. */
	m = model_new();
	made_mark(m, 1, 1, 777 * 1000000000ull, 0, "here");
	for (uint64_t second = 1; second <= 3000; second++)
		resident(m, second, second, MTW_MEMORY_FILE);
	size_t n = model_rss(m, &list);
	CHECK(n > 100 && n <= 512);
	CHECK_EQ(list[0].bytes[MTW_MEMORY_LIVE], 1);
	CHECK_EQ(list[n - 1].bytes[MTW_MEMORY_LIVE], 3000);
	for (size_t i = 1; i < n; i++)
		CHECK(list[i].time_ns > list[i - 1].time_ns);
	CHECK_EQ(model_rss_at(m, 777 * 1000000000ull)->bytes[MTW_MEMORY_LIVE], 777);
	CHECK(!model_rss_at(m, 4000 * 1000000000ull));
	CHECK_EQ(model_rss_named(m, &named), 1);
	CHECK_STR(named[0].name, "/lib/x");
	model_clear(m);
	CHECK_EQ(model_rss(m, &list), 0);
	CHECK_EQ(model_rss_named(m, &named), 0);
	model_free(m);
}
