/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "screen/theme.h"

#include <dirent.h>

static size_t lines[8], count;
static char reasons[8][160];

static void wrong(void *arg, size_t line, const char *why)
{
	(void)arg;
	if (count < 8) {
		lines[count] = line;
		snprintf(reasons[count], sizeof reasons[0], "%s", why);
	}
	count++;
}

TEST(reads_colours_and_attributes)
{
	struct theme t;

	theme_plain(&t);
	CHECK_EQ(theme_parse("# head\n\nname = 231 default bold\nplace=#ff8000\nowner-2 = "
			     "bright-red 17 underline reverse\n",
			     &t, wrong, NULL),
		 0);
	CHECK_EQ(t.styles[ROLE_NAME].fg, 231);
	CHECK_EQ(t.styles[ROLE_NAME].bg, COLOUR_DEFAULT);
	CHECK_EQ(t.styles[ROLE_NAME].attrs, STYLE_BOLD);
	CHECK_EQ(t.styles[ROLE_PLACE].fg, COLOUR_RGB | 0xff8000);
	CHECK_EQ(t.styles[ROLE_OWNER1].fg, 9);
	CHECK_EQ(t.styles[ROLE_OWNER1].bg, 17);
	CHECK_EQ(t.styles[ROLE_OWNER1].attrs, STYLE_UNDERLINE | STYLE_REVERSE);
}

TEST(a_wrong_line_is_named_and_the_rest_counts)
{
	struct theme t;

	theme_plain(&t);
	CHECK_EQ(theme_parse("name = red\nnonsense\nnome = red\nplace = rad\nbad = 256\nhit = "
			     "#12345\nkey = blue\n",
			     &t, wrong, NULL),
		 5);
	CHECK_EQ(lines[0], 2);
	CHECK_EQ(lines[1], 3);
	CHECK(strstr(reasons[1], "nome"));
	CHECK_EQ(lines[2], 4);
	CHECK(strstr(reasons[2], "rad"));
	CHECK_EQ(t.styles[ROLE_NAME].fg, 1);
	CHECK_EQ(t.styles[ROLE_KEY].fg, 4);
	CHECK_EQ(t.styles[ROLE_PLACE].fg, COLOUR_DEFAULT);
}

TEST(shipped_themes_have_no_wrong_line)
{
	DIR *dir = opendir("themes");
	struct dirent *e;
	int seen = 0;

	CHECK(dir != NULL);
	while ((e = readdir(dir))) {
		char path[300];
		struct theme t;
		struct err err = { 0 };
		if (!strstr(e->d_name, ".theme"))
			continue;
		snprintf(path, sizeof path, "themes/%s", e->d_name);
		CHECK_EQ(theme_load(path, &t, &err), 0);
		CHECK_STR(err.text, "");
		seen++;
	}
	closedir(dir);
	CHECK(seen >= 3);
}

TEST(an_unknown_theme_is_an_error_that_names_it)
{
	struct theme t;
	struct err err = { 0 };

	CHECK_EQ(theme_load("no-such-theme", &t, &err), -1);
	CHECK_EQ(err.status, 2);
	CHECK(strstr(err.text, "no-such-theme"));
}
