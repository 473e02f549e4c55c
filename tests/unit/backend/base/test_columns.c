/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "report/text/page.h"

#include <stdlib.h>
#include <string.h>

static char *wrapped(const char *text)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	page_wrap(text, f);
	fclose(f);
	return out;
}

static const char *name(const char *s, size_t columns, bool full)
{
	static char out[4096];
	struct report_options o = { .full = full };
	struct page p = { .options = &o };

	memset(out, 0, sizeof out);
	p.out = fmemopen(out, sizeof out, "w");
	page_name(&p, s, columns);
	fclose(p.out);
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
	CHECK_EQ(strcspn(out, "\n"), PAGE_COLUMNS);
	CHECK_EQ(strlen(out), 203);
	free(out);
}

TEST(names_lose_brackets_first)
{
	const char *map = "std::map<std::string, std::vector<int> >::operator[](std::string&&)";

	CHECK_STR(name(map, 80, false), map);
	CHECK_STR(name(map, 40, false), "std::map<...>::operator[](...)");
	CHECK_STR(name(map, 40, true), map);
	CHECK_STR(name("std::operator<< <char>(std::ostream&, char)", 30, false),
		  "std::operator<< <...>(...)");
	CHECK_STR(name("a_long_name_of_a_plain_function", 20, false), "a_long_na...function");
}

TEST(the_middle_goes)
{
	char buf[64];

	CHECK_STR(page_shorten(buf, sizeof buf, "abcdefghij", 10), "abcdefghij");
	CHECK_STR(page_shorten(buf, sizeof buf, "abcdefghijk", 10), "abcd...ijk");
	CHECK_STR(page_shorten(buf, sizeof buf, "äöüäöüäöüäö", 10), "äöüä...üäö");
	CHECK_EQ(page_columns("äö"), 2);
}

TEST(wide_characters_take_two_columns)
{
	char text[600] = "", buf[64], *out;

	for (int i = 0; i < 100; i++)
		strcat(text, "\u65e5");
	CHECK_EQ(page_columns(text), 200);
	out = wrapped(text);
	CHECK_EQ(strcspn(out, "\n"), PAGE_COLUMNS / 2 * 3);
	free(out);
	CHECK_STR(page_shorten(buf, sizeof buf, text, 10), "\u65e5\u65e5...\u65e5");
	CHECK_EQ(page_columns(page_shorten(buf, sizeof buf, text, 11)), 11);
	CHECK_EQ(page_columns("e\u0301"), 1);
	CHECK_STR(page_shorten(buf, sizeof buf, "abe\u0301defghe\u0301i", 7), "ab...e\u0301i");
	strcpy(text, "a");
	for (int i = 0; i < 60; i++)
		strcat(text, "\u0301");
	CHECK_EQ(strlen(page_shorten(buf, 40, text, 10)), 37);
}
