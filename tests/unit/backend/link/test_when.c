/* SPDX-License-Identifier: MIT
 *
 * test_when.c - instants as users write them, and what is none.
 */
#include "check.h"
#include "link/when.h"
#include "made.h"

#define NS 1000000000ull
#define END (900 * NS)

TEST(words_and_times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "one", 7 * NS },      { "m1", 7 * NS },
		{ "1", 7 * NS },        { "now", END },
		{ "end", END },         { "start", 1 },
		{ "peak", 0 },          { "0:12:09", 729 * NS },
		{ "12:09", 729 * NS },  { "0:01.250", NS + 250999999 },
		{ "90s", 90 * NS },     { "1.5m", 90 * NS },
		{ "2h", 7200 * NS },    { "-2m", END - 120 * NS },
		{ "-2", END - 2 * NS }, { "-1h", 0 },
	};
	static const char *const bad[] = { "",   "m2",  "2",  "two", "90",  "1:2:3:4", "-",  "-0",
					   "5x", "-5x", "1:", "--1", "1s2", "-inf",    "nan" };
	struct model *m = model_new();

	made_mark(m, 1, 0, 7 * NS, 0, "one");
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		uint64_t ns = UINT64_MAX;
		CHECK(when_read(m, END, good[i].text, &ns));
		CHECK_EQ(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		uint64_t ns;
		if (when_read(m, END, bad[i], &ns))
			printf("  taken: %s\n", bad[i]);
		CHECK(!when_read(m, END, bad[i], &ns));
	}
	model_free(m);
}

TEST(an_instant_outside_of_the_session_is_an_error)
{
	static const struct {
		const char *text;
		bool inside;
	} cases[] = {
		{ "start", true }, { "now", true },   { "-1ms", true },     { "0:12.250", true },
		{ "12s", true },   { "0:13", false }, { "12.252s", false }, { "-13s", false },
		{ "one", true },   { "2h", false },   { "-12.25s", true },
	};
	uint64_t end = 12250 * NS / 1000, ns;
	struct model *m = model_new();

	made_mark(m, 1, 0, 7 * NS, 0, "one");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err err = { 0 };

		printf("  %s\n", cases[i].text);
		CHECK(when_read(m, end, cases[i].text, &ns));
		CHECK_EQ(when_lies_in(end, cases[i].text, ns, &err), cases[i].inside);
		CHECK_EQ(err.status, cases[i].inside ? 0 : 2);
	}
	struct err err = { 0 };
	CHECK(when_read(m, end, "peak", &ns) && !when_lies_in(end, "peak", ns, &err));
	CHECK_STR(err.text, "peak: the program has not allocated anything up to here");
	model_free(m);
}
