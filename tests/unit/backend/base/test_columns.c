/* SPDX-License-Identifier: MIT
 *
 * test_columns.c - text measured, cut and wrapped by the columns that it takes.
 */
#include "check.h"
#include "base/columns.h"

#include <stdlib.h>
#include <string.h>

static char *wrapped(const char *text)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	columns_wrap(text, f);
	fclose(f);
	return out;
}

TEST(short_lines_stay)
{
	char *out = wrapped("a\n\n  b  c \n");

	CHECK_STR(out, "a\n\n  b  c \n");
	free(out);
}

TEST(long_lines_go_on_below)
{
	char text[256], *out;

	memset(text, 'w', 75);
	strcpy(text + 75, " seven and more\n");
	out = wrapped(text);
	CHECK(!strncmp(out + 75, "\nseven and more\n", 16));
	free(out);
	memcpy(text, "! ", 2);
	out = wrapped(text);
	CHECK(!strncmp(out + 75, "\n  seven and more\n", 18));
	free(out);
	memset(text, 'w', 200); /* a path */
	text[200] = '\0';
	out = wrapped(text);
	CHECK_EQ(strcspn(out, "\n"), COLUMNS_OF_TEXT);
	CHECK_EQ(strlen(out), 203);
	free(out);
}

TEST(the_middle_goes)
{
	char buf[64];

	CHECK_STR(columns_clip(buf, sizeof buf, "abcdefghij", 10, "..."), "abcdefghij");
	CHECK_STR(columns_clip(buf, sizeof buf, "abcdefghijk", 10, "..."), "abcd...ijk");
	CHECK_STR(columns_clip(buf, sizeof buf, "äöüäöüäöüäö", 10, "..."), "äöüä...üäö");
	CHECK_STR(columns_clip(buf, sizeof buf, "abcdefghijk", 10, "\u2026"), "abcde\u2026hijk");
	CHECK_STR(columns_clip(buf, sizeof buf, "abcdefghijk", 4, "..."), "abcd");
	CHECK_EQ(columns_of("äö"), 2);
}

TEST(wide_characters_take_two_columns)
{
	char text[600] = "", buf[64], *out;

	for (int i = 0; i < 100; i++)
		strcat(text, "\u65e5");
	CHECK_EQ(columns_of(text), 200);
	out = wrapped(text);
	CHECK_EQ(strcspn(out, "\n"), COLUMNS_OF_TEXT / 2 * 3);
	free(out);
	CHECK_STR(columns_clip(buf, sizeof buf, text, 10, "..."), "\u65e5\u65e5...\u65e5");
	CHECK_EQ(columns_of(columns_clip(buf, sizeof buf, text, 11, "...")), 11);
	CHECK_EQ(columns_of("e\u0301"), 1);
	CHECK_STR(columns_clip(buf, sizeof buf, "abe\u0301defghe\u0301i", 7, "..."),
		  "ab...e\u0301i");
	strcpy(text, "a");
	for (int i = 0; i < 60; i++)
		strcat(text, "\u0301");
	CHECK_EQ(strlen(columns_clip(buf, 40, text, 10, "...")), 37);
}
