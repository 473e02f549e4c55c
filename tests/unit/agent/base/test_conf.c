/* SPDX-License-Identifier: MIT
 *
 * test_conf.c - MEMTOP_OPTIONS: words, quotes, bounds, and printing in a form that parses again.
 */
#include "base/conf.h"
#include "record/filter.h"
#include "check.h"

TEST(separators_and_quotes)
{
	CHECK(mt_conf_parse("  depth=7,tick_ms=50 listen=\"unix:/tmp/a b,c\" token_file=/x\\ y "));
	CHECK_EQ(mt_conf.xdepth, 7);
	CHECK_EQ(mt_conf.tick_ns, 50000000);
	CHECK_STR(mt_conf.listen, "unix:/tmp/a b,c");
	CHECK_STR(mt_conf.token_file, "/x y");
	CHECK(!mt_conf.follow_exec);
	CHECK(!mt_conf.follow_static);
	CHECK(mt_conf_parse("follow=exec"));
	CHECK(mt_conf.follow_exec);
	CHECK(mt_conf_parse(""));
}

TEST(sizes_take_k_m_and_g)
{
	CHECK(mt_conf_parse("max_memory=3M mark_memory=0"));
	CHECK_EQ(mt_conf.max_memory, 3 << 20);
	CHECK_EQ(mt_conf.mark_memory, 0);
	CHECK(mt_conf_parse("max_memory=2g mark_memory=5k"));
	CHECK_EQ(mt_conf.max_memory, (int64_t)2 << 30);
	CHECK_EQ(mt_conf.mark_memory, 5120);
	CHECK(mt_conf_parse("min_size=1.5M max_size=2.000000001G sample=0.5k"));
	CHECK_EQ(mt_conf.min_size, 3 << 19);
	CHECK_EQ(mt_conf.max_size, ((int64_t)2 << 30) + 1);
	CHECK_EQ(mt_conf.sample, 512);
}

TEST(options_of_dumps_are_read)
{
	CHECK(mt_conf_parse("dump_signal=SIGUSR2 dump_at_exit=yes dump_on_fail=yes "
			    "dump_on_growth=10M dump_on_rss=2G dump_to=\"/var/x y/%p.%n.mtop\""));
	CHECK_STR(mt_conf.dump_signal, "SIGUSR2");
	CHECK(mt_conf.dump_at_exit && mt_conf.dump_on_fail);
	CHECK_EQ(mt_conf.dump_on_growth, 10 << 20);
	CHECK_EQ(mt_conf.dump_on_rss, (int64_t)2 << 30);
	CHECK_STR(mt_conf.dump_to, "/var/x y/%p.%n.mtop");
	CHECK(!mt_conf_parse("dump_signal=SIGSEGV"));
	CHECK(!mt_conf_parse("dump_signal=12"));
	CHECK(!mt_conf_parse("dump_on_growth=-1"));
}

TEST(wrong_options_are_refused_by_name)
{
	static const char *const bad[] = {
		"depht=1",       "depth",
		"depth=",        "depth=0",
		"depth=5000",    "depth=-1",
		"depth=1x",      "=3",
		"depth=1M",      "max_memory=99999999999999999999",
		"max_memory=1Q", "max_memory=18446744073709551615K",
		"listen=\"open", "depth=3\\",
		"unwind=magic",  "unwind=cfi fp",
		"follow=fork",   "tick_ms=1",
		"listen=",       "min_size=few",
		"max_size=-1",   "sample=2T",
		"merge=1k",      "merge=5000",
		"libs=[",        "exclude=(a",
		"libs=a{3}",     "min_size=1.5",
		"min_size=.M",   "min_size=1.M",
		"depth=1.5",     "min_size=1.0000000001M",
		"merge=1.5k",    "min_size=1.5MX",
	};

	freopen("/dev/null", "w", stderr);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (mt_conf_parse(bad[i]))
			printf("  taken: %s\n", bad[i]);
		CHECK(!mt_conf_parse(bad[i]));
	}
}

TEST(printed_options_parse_to_themselves)
{
	char first[1024], again[1024];

	CHECK(mt_conf_parse(
		"listen=\"a b\\\"c\\\\,d\" unwind=caller depth=33 max_memory=7M follow=exec"
		" sample=64k min_size=16 max_size=1M merge=9 libs=\"a b\" exclude=\\(c"
		"\\)"));
	CHECK_EQ(mt_conf_print(first, sizeof(first)), strlen(first));
	memset(mt_conf.listen, 0, sizeof(mt_conf.listen));
	CHECK(mt_conf_parse(first));
	CHECK_STR(mt_conf.listen, "a b\"c\\,d");
	mt_conf_print(again, sizeof(again));
	CHECK_STR(first, again);
	for (size_t size = 1; size < strlen(first); size++) {
		memset(again, '#', sizeof(again));
		CHECK(mt_conf_print(again, size) < size);
		CHECK(memchr(again, '\0', size) != NULL);
		CHECK_EQ(again[size], '#');
	}
}

TEST(printed_defaults_parse_to_themselves)
{
	char first[1024], again[1024];

	mt_conf_print(first, sizeof(first));
	CHECK(strstr(first, "max_memory") == NULL); /* no limit: 0 is none that may be given */
	CHECK(mt_conf_parse(first));
	mt_conf_print(again, sizeof(again));
	CHECK_STR(first, again);
}

TEST(run_time_changes)
{
	CHECK(!mt_conf_set("depth", "12", mt_filter_update));
	CHECK_EQ(mt_conf.xdepth, 12);
	CHECK_STR(mt_conf_set("depth", "0", mt_filter_update), "is out of range");
	CHECK_STR(mt_conf_set("listen", "@other", mt_filter_update),
		  "cannot be set while the program runs");
	CHECK_STR(mt_conf_set("nonsense", "1", mt_filter_update), "is no option");
	CHECK_EQ(mt_conf.xdepth, 12);
	CHECK(!mt_conf_set("max_size", "2k", mt_filter_update));
	CHECK(mt_conf_set("min_size", "3k", mt_filter_update));
	CHECK_EQ(mt_conf.min_size, 0);
	CHECK(!mt_conf_set("libs", "a|b", mt_filter_update));
	CHECK(mt_conf_set("libs", "a|b(", mt_filter_update));
	CHECK_STR(mt_conf.libs, "a|b");
	CHECK(!mt_conf_set("libs", "", mt_filter_update));
}
