/* SPDX-License-Identifier: MIT
 *
 * test_limits.c - limits, tolerances and patterns, right and wrong ones.
 */
#include "check.h"
#include "check/limits.h"
#include "check/pattern.h"

#define K 1024ull

TEST(limits_are_read_and_refused)
{
	static const struct {
		enum check_kind kind;
		const char *text, *where, *pattern;
		uint64_t most;
	} all[] = {
		{ CHECK_LIVE, "0", "", NULL, 0 },
		{ CHECK_LIVE, "812", "", NULL, 812 },
		{ CHECK_LIVE, "64K", "", NULL, 64 * K },
		{ CHECK_LIVE, "64k", "", NULL, 64 * K },
		{ CHECK_LIVE, "1.5M", "", NULL, 1536 * K },
		{ CHECK_LIVE, "2MiB", "", NULL, 2048 * K },
		{ CHECK_LIVE, "2GB", "", NULL, 2048 * K * K },
		{ CHECK_LIVE, "512B", "", NULL, 512 },
		{ CHECK_BLOCKS, "10K", "", NULL, 10000 },
		{ CHECK_LIVE, "lib:ssl=2M", "lib:ssl", "*ssl*", 2048 * K },
		{ CHECK_LIVE, "lib:libssl.so.*=1", "lib:libssl.so.*", "libssl.so.*", 1 },
		{ CHECK_LEAKED, "fn:parse_*=0", "fn:parse_*", "parse_*", 0 },
		{ CHECK_LEAKED, "fn:parse_*?=0", "fn:parse_*", "parse_*", 0 },
		{ CHECK_LIVE, "lib:ssl?=1", "lib:ssl", "*ssl*", 1 },
		{ CHECK_LIVE, "fn:operator==(A, B)=7", "fn:operator==(A, B)", "operator==(A, B)",
		  7 },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct limit l;
		struct err err;

		CHECK_EQ(limit_parse(&l, all[i].kind, all[i].text, &err), 0);
		CHECK_EQ(l.most, all[i].most);
		CHECK_STR(l.where, all[i].where);
		if (all[i].pattern)
			CHECK_STR(l.pattern, all[i].pattern);
		CHECK_EQ(l.covers == COVERS_ALL, !all[i].pattern);
		CHECK_EQ(l.optional, strchr(all[i].text, '?') != NULL);
		limit_release(&l);
	}
}

TEST(what_is_no_limit)
{
	static const char *const all[] = {
		"",         "M",
		"-1",       "+1",
		" 1",       "1 M",
		"1MM",      "0x10",
		"nan",      "inf",
		"1e3",      "1%",
		"ssl=2M",   "lib:=2M",
		"fn:=1",    "fn:?=1",
		"lib:ssl",  "lib=",
		"lib:a=",   "=1",
		"1Ki2",     "1KiBB",
		"1iB",      "m1..m2=1",
		"1e999",    "9999999999999999999999999",
		"lib:a=-1", "999999999999T",
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct limit l;
		struct err err = { 0 };

		if (!limit_parse(&l, CHECK_LIVE, all[i], &err)) {
			printf("  taken: \"%s\"\n", all[i]);
			fflush(stdout);
			_exit(1);
		}
		CHECK_EQ(err.status, 2);
		CHECK(strstr(err.text, "not a limit; write --max-live"));
	}
}

TEST(tolerances_are_read_and_refused)
{
	static const struct {
		const char *text;
		uint64_t most; /* for a figure that was 100,000 bytes */
	} all[] = {
		{ "5%", 105000 + K },           { "0%", 100000 + K },       { "0%,0", 100000 },
		{ "10%,64K", 110000 + 64 * K }, { "64K", 105000 + 64 * K }, { "0.5%,0", 100500 },
	};
	struct tolerance t;
	struct err err;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		CHECK_EQ(tolerance_parse(&t, all[i].text, &err), 0);
		CHECK_EQ(tolerance_most(&t, 100000), all[i].most);
	}
	static const char *const wrong[] = { "",    "x",      "-5%",    "5%,",  ",5%",
					     "5%%", "64K,5%", "5%,6%x", "nan%", "%" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ(tolerance_parse(&t, wrong[i], &err), -1);
}

TEST(patterns_match_whole_names)
{
	static const struct {
		const char *pattern, *text;
		bool plain, question;
	} all[] = {
		{ "a", "a", true, true },         { "a", "ab", false, false },
		{ "*", "", true, true },          { "a*c", "abbc", true, true },
		{ "*b*c", "xbxbxc", true, true }, { "*b*c", "xbxbx", false, false },
		{ "a?c", "abc", false, true },    { "a?c", "a?c", true, true },
		{ "a?", "a", false, false },      { "**", "a", true, true },
		{ "", "a", false, false },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		CHECK_EQ(pattern_matches(all[i].pattern, all[i].text, false), all[i].plain);
		CHECK_EQ(pattern_matches(all[i].pattern, all[i].text, true), all[i].question);
	}
}

TEST(a_hostile_pattern_ends)
{
	char pattern[4001], text[20001];

	for (size_t i = 0; i < 4000; i++)
		pattern[i] = i % 2 ? 'a' : '*';
	memset(text, 'a', sizeof text);
	pattern[3999] = 'b';
	pattern[4000] = text[20000] = '\0';
	CHECK(!pattern_matches(pattern, text, true));
}
