/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/sanitize.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

static const struct {
	const char *given, *shown;
} cases[] = {
	{ "plain", "plain" },
	{ "", "" },
	{ "gr\xc3\xb6\xc3\x9f"
	  "e \xe6\x97\xa5",
	  "gr\xc3\xb6\xc3\x9f"
	  "e \xe6\x97\xa5" },
	{ "a\033[31mb\x7f\a", "a?[31mb??" },
	{ "one\ttwo\nthree", "one two?three" },
	{ "\x9b"
	  "31m",
	  "?31m" }, /* C1 as a byte, */
	{ "\xc2\x9b"
	  "31m",
	  "?31m" },                          /* as UTF-8 */
	{ "\xc0\x9b\xe0\x80\xaf", "?????" }, /* longer than it needs to be */
	{ "\xed\xa0\x80", "???" },           /* half of a pair */
	{ "\xf4\x90\x80\x80", "????" },      /* beyond Unicode */
	{ "cut\xe6\x97", "cut??" },
	{ "\xef\xbf\xbf\xef\xb7\x90", "??" }, /* no characters */
	{ "a\xe2\x80\xae"
	  "b\xd8\x9c"
	  "c\xe2\x81\xa6"
	  "d",
	  "abcd" }, /* directions */
	{ "a\xe2\x80\x8b"
	  "b\xef\xbb\xbf"
	  "c\xc2\xad"
	  "d\xe2\x80\x8d",
	  "abcd" },                                     /* no width */
	{ "\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4" }, /* a variation, which makes it wider */
	{ "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", "\xf0\x9f\x91\x8d" }, /* a tone of skin */
	{ "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa", "??" },               /* a flag */
	{ "\xe2\x80\xa8"
	  "x\xf3\xa0\x81\x81",
	  "x" }, /* a line separator, a tag */
};

TEST(only_what_can_be_read_is_left)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char buf[128], *put = NULL;
		size_t size;
		CHECK_STR(sanitize_clean(buf, sizeof buf, cases[i].given), cases[i].shown);
		FILE *out = open_memstream(&put, &size);
		sanitize_put(out, cases[i].given, strlen(cases[i].given));
		fclose(out);
		CHECK_STR(put, cases[i].shown);
		free(put);
		strcpy(buf, cases[i].given); /* in place */
		CHECK_STR(sanitize_clean(buf, sizeof buf, buf), cases[i].shown);
	}
}

TEST(a_character_is_never_halved)
{
	char buf[6];

	CHECK_STR(sanitize_clean(buf, sizeof buf, "abc\xe6\x97\xa5"), "abc");
	CHECK_STR(sanitize_clean(buf, sizeof buf,
				 "ab\xe6\x97\xa5"
				 "c"),
		  "ab\xe6\x97\xa5");
}

TEST(a_message_is_one_clean_line)
{
	struct err err;

	err_set(&err, 2, "%s: no",
		"a\033]0;x\a\nb\xc2\x9b\xe2\x80\xae"
		"c");
	CHECK_STR(err.text, "a ]0;x  b?c: no");
}

TEST(columns_are_those_of_a_terminal_or_more)
{
	int fewer = 0;

	CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
	for (int32_t cp = 0x20; cp <= 0x3fffd; cp++)
		if (wcwidth((wchar_t)cp) > (int)sanitize_columns(cp)) {
			printf("  U+%X takes %d\n", (unsigned)cp, wcwidth((wchar_t)cp));
			fewer++;
		}
	CHECK_EQ(fewer, 0);
	CHECK_EQ(sanitize_columns('a'), 1);
	CHECK_EQ(sanitize_columns(0xe9), 1);
	CHECK_EQ(sanitize_columns(0x301), 0);
	CHECK_EQ(sanitize_columns(0x65e5), 2);
	CHECK_EQ(sanitize_columns(0x1f44d), 2);
}
