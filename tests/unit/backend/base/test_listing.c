/* SPDX-License-Identifier: MIT
 *
 * test_listing.c - text tables: columns as wide as what is in them, names in what is left.
 */
#include "base/listing.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

static const struct listing_column columns[] = { { "SIZE", LISTING_RIGHT, 6, 0 },
						 { "KIND", LISTING_LEFT, 4, 2 },
						 { "NAME", LISTING_LEFT, 0, 1 } };

static char *ended(struct listing *t)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	listing_end(t, out);
	fclose(out);
	return text;
}

static void put(struct listing *t, const char *size, const char *kind)
{
	listing_row(t);
	listing_put(t, size);
	listing_put(t, kind);
}

static void check(struct listing *t, const char *wanted)
{
	char *text = ended(t);

	CHECK_STR(text, wanted);
	free(text);
}

TEST(columns_are_as_wide_as_their_cells)
{
	struct listing *t = listing_new(columns, 3, 0);

	put(t, "1", "a");
	listing_put(t, "one");
	put(t, "12,345,678", "longer");
	listing_put(t, "two");
	put(t, "", "\u65e5\u672c"); /* two characters, four columns */
	listing_put(t, "three");
	check(t, "      SIZE  KIND   NAME\n"
		 "         1  a      one\n"
		 "12,345,678  longer two\n"
		 "            \u65e5\u672c   three\n");
}

TEST(no_line_ends_in_blanks)
{
	struct listing *t = listing_new(columns, 3, 0);

	put(t, "1", "");
	put(t, "", "");
	listing_put(t, "");
	listing_row(t);
	listing_row(t);
	listing_put(t, "2");
	check(t, "  SIZE  KIND NAME\n     1\n\n\n     2\n");
}

TEST(without_titles_there_is_no_head)
{
	static const struct listing_column bare[] = { { NULL, LISTING_RIGHT, 3, 0 },
						      { NULL, LISTING_LEFT, 0, 1 } };
	struct listing *t = listing_new(bare, 2, 0);

	check(t, "");
	t = listing_new(bare, 2, 0);
	listing_row(t);
	listing_put(t, "1");
	listing_put(t, "x");
	check(t, "  1 x\n");
	check(listing_new(columns, 3, 0), "  SIZE  KIND NAME\n");
}

TEST(names_get_what_the_other_columns_leave)
{
	struct listing *t = listing_new(columns, 3, 33);

	put(t, "1", "a");
	fputs("  new", listing_name(t, "a_function_with_a_long_name", NULL, NULL, 5));
	put(t, "1234567890", "a");
	fputs("  new", listing_name(t, "short", NULL, NULL, 5));
	put(t, "1", "a");
	listing_name(t, "f", NULL, "main", 0);
	check(t, "      SIZE  KIND NAME\n"
		 "         1  a    a_fu...name  new\n"
		 "1234567890  a    short  new\n"
		 "         1  a    f < main\n");
}

TEST(a_caller_gets_half_at_least)
{
	struct listing *t = listing_new(columns, 3, 36);

	put(t, "1", "a");
	listing_name(t, "a_function_with_a_long_name", NULL, "its_caller_with_another", 0);
	put(t, "1", "a");
	listing_name(t, "a_function_with_a_long_name", NULL, "main", 0);
	put(t, "1", "a");
	listing_name(t, "fun", NULL, "its_caller_with_another", 0);
	check(t, "  SIZE  KIND NAME\n"
		 "     1  a    a_fu...ame < its_...her\n"
		 "     1  a    a_funct...g_name < main\n"
		 "     1  a    fun < its_cal...another\n");
}

TEST(foreign_names_are_cleaned_and_whole_without_a_width)
{
	struct listing *t = listing_new(columns, 3, 0);
	char name[6000], wanted[7000];

	put(t, "1", "a");
	listing_name(t, "a\033[31m\nb", NULL, "c\001", 0);
	check(t, "  SIZE  KIND NAME\n     1  a    a?[31m?b < c?\n");
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	t = listing_new(columns, 3, 0);
	put(t, "1", "a");
	listing_name(t, name, NULL, NULL, 0);
	snprintf(wanted, sizeof wanted, "  SIZE  KIND NAME\n     1  a    %s\n", name);
	check(t, wanted);
}

TEST(lines_below_a_row_stand_in_no_column)
{
	struct listing *t = listing_new(columns, 3, 0);

	put(t, "1", "a");
	listing_put(t, "one");
	fputs("a line that is longer than all columns\nanother\n", listing_below(t));
	put(t, "2", "b");
	listing_put(t, "two");
	listing_below(t);
	check(t, "  SIZE  KIND NAME\n"
		 "     1  a    one\n"
		 "a line that is longer than all columns\n"
		 "another\n"
		 "     2  b    two\n");
}
