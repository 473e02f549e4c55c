/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "report/formats/formats.h"
#include "report/report.h"
#include "wire/decode.h"

#include <signal.h>

TEST(bytes_have_one_decimal_and_a_unit)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ 1023, "1023" },
		{ 1024, "1.0K" },
		{ 1536, "1.5K" },
		{ 1048575, "1.0M" },
		{ 1048576, "1.0M" },
		{ 14680064, "14.0M" },
		{ 1ull << 30, "1.0G" },
		{ 1000ull << 20, "1.0G" },
		{ 1ull << 40, "1.0T" },
		{ UINT64_MAX, "16.0E" },
	};
	char buf[FORMAT_NUMBER];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_STR(format_bytes(buf, cases[i].bytes), cases[i].text);
}

TEST(signs_are_always_said)
{
	char buf[FORMAT_NUMBER];

	CHECK_STR(format_signed(buf, 0), "0");
	CHECK_STR(format_signed(buf, 2048), "+2.0K");
	CHECK_STR(format_signed(buf, -2048), "-2.0K");
	CHECK_STR(format_signed(buf, INT64_MIN), "-8.0E");
}

TEST(counts_are_grouped)
{
	char buf[FORMAT_NUMBER];

	CHECK_STR(format_count(buf, 0), "0");
	CHECK_STR(format_count(buf, 999), "999");
	CHECK_STR(format_count(buf, 1000), "1,000");
	CHECK_STR(format_count(buf, 812004), "812,004");
	CHECK_STR(format_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(every_reason_has_words)
{
	CHECK(report_truncation(MTW_TRUNC_NONE) == NULL);
	for (uint32_t i = 1; i <= MTW_TRUNC_COUNT; i++) /* one past: a later agent's */
		CHECK(report_truncation(i) && *report_truncation(i));
	for (unsigned i = SHAPE_STEADY; i <= SHAPE_SHRINKING; i++)
		CHECK(report_shape((enum shape)i) && *report_shape((enum shape)i));
	for (unsigned i = 0; i <= MTW_LOSS_COUNT; i++)
		CHECK(report_loss(i) && *report_loss(i));
	CHECK_STR(report_state(MTW_CUT, false), "cut");
	CHECK_STR(report_state(MTW_LINK_LOST, false), "link_lost");
	CHECK_STR(report_state(MTW_EXITED, true), "exited");
	/* by a signal, for all that is known */
	CHECK_STR(report_state(MTW_EXITED, false), "ended");
}

static void lose(struct model *m, unsigned reason)
{
	struct event e = { .type = MTW_LOSS, .u.loss = { reason, 33618, 24 } };
	struct err err = { 0 };

	CHECK_EQ(model_apply(m, &e, &err), 0);
}

TEST(what_misses_no_block_is_not_lost)
{
	struct model *m = model_new();
	uint64_t bytes;

	lose(m, MTW_LOSS_THREADS);
	lose(m, MTW_LOSS_UNKNOWN_FREE);
	CHECK_EQ(report_lost(m, &bytes), 0);
	CHECK_EQ(bytes, 0);
	lose(m, MTW_LOSS_SHADOW);
	CHECK_EQ(report_lost(m, &bytes), 33618);
	CHECK_EQ(bytes, 24);
	model_free(m);
}

static void cut_is_said(uint32_t state, int status, bool known, const char *words)
{
	struct model *m = model_new();
	char buf[REPORT_END];

	model_set_state(m, state, status, known);
	CHECK(report_cut_end(m) == NULL);
	model_set_cut(m);
	CHECK_EQ(model_state(m, NULL, NULL), MTW_CUT);
	CHECK_STR(report_end(m, buf), "recording cut off");
	char *sentence = report_cut_end(m);
	CHECK_STR(sentence, words);
	free(sentence);
	model_free(m);
}

TEST(a_cut_file_says_what_it_knows_of_the_end)
{
	cut_is_said(MTW_RUNNING, 0, false, "The program's end is not known: the file ends before.");
	cut_is_said(MTW_EXITED, 3, true,
		    "The program exited with status 3; the file ends before its last state.");
	cut_is_said(MTW_SIGNALLED, 9, true,
		    "The program ended by SIGKILL; the file ends before its last state.");
	cut_is_said(
		MTW_EXITED, 0, false,
		"The program ended, and how is not known; the file ends before its last state.");
}

TEST(formats_are_found)
{
	CHECK_STR(formats_by_name("json")->name, "json");
	CHECK(formats_by_name("xml") == NULL);
	CHECK_STR(formats_by_path("a.json")->name, "json");
	CHECK_STR(formats_by_path("/x/a.txt")->name, "text");
	CHECK_STR(formats_by_path("a.speedscope.json")->name, "speedscope");
	CHECK_STR(formats_by_path("a.pb.gz")->name, "pprof");
	CHECK_STR(formats_by_path("b.folded")->name, "folded");
	CHECK_STR(formats_by_path("b.heaptrack")->name, "heaptrack");
	CHECK(formats_by_path(".json") == NULL);
	CHECK(formats_by_path("a.mtop") == NULL);
}

TEST(signals_have_names)
{
	char name[FORMAT_SIGNAL];

	CHECK_STR(format_signal(SIGTERM, name), "SIGTERM");
	CHECK_STR(format_signal(SIGSEGV, name), "SIGSEGV");
	CHECK_STR(format_signal(SIGRTMIN, name), "SIGRTMIN+0");
	CHECK_STR(format_signal(SIGRTMIN + 3, name), "SIGRTMIN+3");
	CHECK_STR(format_signal(0, name), "signal 0");
	CHECK_STR(format_signal(-1, name), "signal -1");
	CHECK_STR(format_signal(1000000000, name), "signal 1000000000");
}
