/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "screen/text.h"

#include <locale.h>

static char out[TEXT_MAX];

static void utf8(void)
{
	CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
	text_set_ascii(false);
}

TEST(short_text_is_left_alone)
{
	utf8();
	CHECK_EQ(text_clip(out, "malloc", 10, CLIP_END), 6);
	CHECK_STR(out, "malloc");
}

TEST(clips_at_the_end_the_middle_and_the_start)
{
	utf8();
	CHECK_EQ(text_clip(out, "abcdefghij", 6, CLIP_END), 6);
	CHECK_STR(out, "abcde…");
	CHECK_EQ(text_clip(out, "abcdefghij", 6, CLIP_MIDDLE), 6);
	CHECK_STR(out, "abc…ij");
	CHECK_EQ(text_clip(out, "abcdefghij", 6, CLIP_START), 6);
	CHECK_STR(out, "…fghij");
	CHECK_EQ(text_clip(out, "abcdefghij", 0, CLIP_END), 0);
	CHECK_STR(out, "");
	CHECK_EQ(text_clip(out, "abcdefghij", 2, CLIP_END), 2);
	CHECK_STR(out, "ab");
}

TEST(wide_characters_are_never_halved)
{
	utf8();
	CHECK_EQ(text_width("日本語"), 6);
	CHECK_EQ(text_clip(out, "日本語日本語", 6, CLIP_END), 5); /* two of them and the ellipsis */
	CHECK_STR(out, "日本…");
	CHECK_EQ(text_clip(out, "日本", 3, CLIP_END), 2);
	CHECK_STR(out, "日");
}

TEST(control_characters_and_escapes_do_not_get_through)
{
	utf8();
	text_clip(out,
		  "a\033[31mred\x07\n\x9b"
		  "b",
		  40, CLIP_END);
	CHECK_STR(out, "a?[31mred???b");
	text_clip(out, "x\xe2\x80\xaey", 40, CLIP_END); /* right-to-left override */
	CHECK_STR(out, "xy");
	text_clip(out, "\xc2\x9b", 40, CLIP_END); /* CSI as one character */
	CHECK_STR(out, "?");
}

TEST(what_is_not_utf8_costs_a_mark_each)
{
	utf8();
	CHECK_EQ(text_clip(out, "a\xff\xc3z", 40, CLIP_END), 4);
	CHECK_STR(out, "a??z");
	text_clip(out, "\xc0\xaf\xed\xa0\x80", 40, CLIP_END); /* overlong, surrogate */
	CHECK_STR(out, "?????");
}

TEST(accents_are_few_and_stay_with_their_letter)
{
	utf8();
	char stacked[400] = "a";
	for (int i = 0; i < 100; i++)
		strcat(stacked, "\xcc\x81");
	strcat(stacked, "bcdefgh");
	CHECK_EQ(text_clip(out, stacked, 40, CLIP_END), 8);
	CHECK_STR(out, "a\xcc\x81\xcc\x81\xcc\x81"
		       "bcdefgh");
	text_clip(out,
		  "\xcc\x81"
		  "ab",
		  40, CLIP_END); /* would join what stands before the name */
	CHECK_STR(out, "ab");
	text_clip(out, "abcdefghi\xcc\x81j", 4, CLIP_MIDDLE); /* ... or the ellipsis */
	CHECK_STR(out, "ab…j");
}

TEST(ascii_has_no_other_characters)
{
	text_set_ascii(true);
	text_clip(out, "größe日", 40, CLIP_END);
	CHECK_STR(out, "gr??e?");
	for (int g = 0; g < GLYPH_COUNT; g++)
		for (const char *s = text_glyph((enum glyph)g); *s; s++)
			CHECK((unsigned char)*s < 127);
	for (unsigned n = 0; n <= 8; n++)
		CHECK(text_eighth(n)[1] == 0);
}

TEST(long_text_stays_within_its_buffer)
{
	char *s = malloc(100001);

	utf8();
	memset(s, 'x', 100000);
	s[100000] = 0;
	CHECK(text_clip(out, s, 100000, CLIP_END) < TEXT_MAX);
	CHECK(strlen(out) < TEXT_MAX);
	free(s);
}

TEST(figures_have_one_decimal_and_a_unit)
{
	char t[TEXT_BLOCKS];

	CHECK_STR(text_bytes(t, 0), "0");
	CHECK_STR(text_bytes(t, 1023), "1023");
	CHECK_STR(text_bytes(t, 1024), "1.0K");
	CHECK_STR(text_bytes(t, 1048576), "1.0M");
	CHECK_STR(text_bytes(t, 1048575), "1.0M");
	CHECK_STR(text_bytes(t, 101606195), "96.9M");
	CHECK_STR(text_bytes_signed(t, 14 * 1048576), "+14.0M");
	CHECK_STR(text_bytes_signed(t, -2048), "-2.0K");
	CHECK_STR(text_bytes_signed(t, 0), "0");
	CHECK_STR(format_count(t, 0), "0");
	CHECK_STR(format_count(t, 999), "999");
	CHECK_STR(format_count(t, 812004), "812,004");
	CHECK_STR(format_count(t, UINT64_MAX), "18,446,744,073,709,551,615");
	CHECK_STR(text_short(t, 0.1), "0.1");
	CHECK_STR(text_short(t, 0.01), "0");
	CHECK_STR(text_short(t, 3), "3");
	CHECK_STR(text_short(t, 9.94), "9.9");
	CHECK_STR(text_short(t, 9.96), "10");
	CHECK_STR(text_short(t, 88210), "88.2k");
	CHECK_STR(text_short(t, 999940), "999.9k");
	CHECK_STR(text_short(t, 2912400), "2912k");
	CHECK_STR(text_short(t, 99999400), "99999k");
	CHECK_STR(text_short(t, 800000000), "0.8g"); /* six columns: an axis has no more */
	CHECK_STR(text_blocks(t, 1), "1 block");
	CHECK_STR(text_blocks(t, 1204), "1,204 blocks");
	CHECK_STR(text_blocks(t, UINT64_MAX), "18,446,744,073,709,551,615 blocks");
	CHECK_STR(text_short_signed(t, -1500), "-1.5k");
	CHECK_STR(text_clock(t, 849000000000ull), "0:14:09");
	CHECK_STR(text_span(t, 40000000000ull), "40 s");
	CHECK_STR(text_span(t, 300000000000ull), "5 min");
	CHECK_STR(text_span_short(t, 300000000000ull), "5 min");
	CHECK_STR(text_span_short(t, 12000000000ull), "12 s");
	CHECK_STR(text_span_short(t, 1500000000ull), "1.5 s");
	CHECK_STR(text_span_short(t, 999400000ull), "999 ms");
	CHECK_STR(text_span_short(t, 2340000ull), "2.3 ms");
	CHECK_STR(text_span_short(t, 88000ull), "88 us");
	CHECK_STR(text_span_short(t, 3ull), "1 us");
}

TEST(sizes_in_each_unit)
{
	static const struct {
		uint64_t bytes;
		const char *as[UNITS_COUNT];
	} cases[] = {
		{ 0, { "0", "0", "0" } },
		{ 136, { "136", "0.0M", "136" } },
		{ 104858, { "102.4K", "0.1M", "104,858" } },
		{ 96123456, { "91.7M", "91.7M", "96,123,456" } },
		{ 5ull << 40, { "5.0T", "5242880.0M", "5,497,558,138,880" } },
		{ UINT64_MAX, { "16.0E", "17592186044416.0M", "18,446,744,073,709,551,615" } },
	};
	static const char *const words[UNITS_COUNT] = { "auto", "mib", "bytes" };
	enum units u;
	char t[TEXT_BLOCKS];

	for (int i = 0; i < UNITS_COUNT; i++) {
		CHECK(text_units_named(words[i], &u));
		text_set_units(u);
		CHECK_STR(text_units_word(text_units()), words[i]);
		for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
			CHECK_STR(text_bytes(t, cases[k].bytes), cases[k].as[i]);
	}
	CHECK(!text_units_named("kib", &u));
	CHECK_STR(text_bytes_signed(t, -96123456), "-96,123,456");
	CHECK_STR(text_bytes_signed(t, 0), "0");
	CHECK_STR(format_signed(t, 96123456), "+91.7M");
}

TEST(a_bar_keeps_its_columns)
{
	static const struct {
		double part, whole;
		int width, columns;
	} cases[] = {
		{ 1, 2, 24, 12 }, { 2, 2, 24, 24 },        { 9, 2, 24, 24 },
		{ 0, 2, 24, 0 },  { 2, 0, 24, 0 },         { 1e300, 1, 24, 24 },
		{ 1, 1, -3, 0 },  { 1, 1, TEXT_MAX, 341 }, /* as many as fit */
	};

	utf8();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		CHECK_EQ(text_width(text_bar(out, cases[i].part, cases[i].whole, cases[i].width)),
			 cases[i].columns);
	text_set_ascii(true);
	CHECK_STR(text_bar(out, 3, 4, 4), "###");
	text_set_ascii(false);
}
