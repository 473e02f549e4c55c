/* SPDX-License-Identifier: MIT
 *
 * test_source.c - source files: found below the user's folders, and read.
 */
#include "check.h"
#include "widgets/source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];

static const char *in_top(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned at;
	char *path = paths[at++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_top(name), "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void begin(void)
{
	strcpy(top, "/tmp/memtop-t-source-XXXXXX");
	CHECK(mkdtemp(top));
	CHECK(mkdir(in_top("a"), 0700) == 0 && mkdir(in_top("a/src"), 0700) == 0 &&
	      mkdir(in_top("b"), 0700) == 0);
	CHECK(source_set_folders(""));
}

static void end(void)
{
	static const char *const names[] = { "a/src/one.c", "a/one.c", "b/one.c", "a/two.c", "pipe",
					     "a/src",       "a",       "b",       "" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		remove(in_top(names[i]));
}

static const char *found(const char *file)
{
	static char path[PATH_MAX];

	return source_find(file, path, sizeof path) ? path : "none";
}

TEST(found_where_it_is_and_below_folders)
{
	char folders[PATH_MAX];

	begin();
	put("a/src/one.c", "");
	put("a/one.c", "");
	put("b/one.c", "");
	CHECK_STR(found(in_top("b/one.c")), in_top("b/one.c"));
	CHECK_STR(found("/build/x/src/one.c"), "none");
	CHECK_STR(found(in_top("a")), "none"); /* a folder */
	snprintf(folders, sizeof folders, "%s:/nowhere:%s", in_top("b"), in_top("a"));
	CHECK(source_set_folders(folders));
	CHECK_STR(found("/build/x/src/one.c"), in_top("b/one.c"));
	CHECK(source_set_folders(in_top("a")));
	CHECK_STR(found("/build/x/src/one.c"), in_top("a/src/one.c")); /* the longest end */
	CHECK_STR(found("./one.c"), in_top("a/./one.c"));
	CHECK_STR(found("/build/two.c"), "none");
	CHECK_STR(found(""), "none");
	setenv("HOME", top, 1);
	CHECK(source_set_folders("~/a"));
	CHECK_STR(found("/build/src/one.c"), in_top("a/src/one.c"));
	memset(folders, 'x', sizeof folders - 1);
	folders[sizeof folders - 1] = 0;
	CHECK(!source_set_folders(folders));
	CHECK_STR(source_folders(), "~/a");
	end();
}

TEST(lines_around_one)
{
	struct source_text s = { 0 };

	begin();
	put("a/one.c", "1\n2\n3\n4\n5\n\tif (x)\r\n\t\tmalloc(1);\n\n\ta\tb\n10\n11\n12\n13");
	source_read(&s, in_top("a/one.c"), 7);
	CHECK_STR(s.path, in_top("a/one.c"));
	CHECK_EQ(s.first, 4);
	CHECK_EQ(s.count, 7);
	CHECK_STR(s.lines[0], "4");
	CHECK_STR(s.lines[2], "        if (x)");
	CHECK_STR(s.lines[3], "                malloc(1);");
	CHECK_STR(s.lines[4], "");
	CHECK_STR(s.lines[5], "        a       b");
	source_read(&s, s.file, 1);
	CHECK_EQ(s.first, 1);
	CHECK_EQ(s.count, 4);
	put("a/one.c", "\t\tx\n\n\t\t\ty\n"); /* what all begin with is left out */
	source_read(&s, s.file, 1);
	CHECK_EQ(s.count, 3);
	CHECK_STR(s.lines[0], "x");
	CHECK_STR(s.lines[2], "        y");
	source_read(&s, s.file, 900); /* it has no such line */
	CHECK_EQ(s.count, 0);
	CHECK(s.path != NULL);
	unlink(in_top("a/one.c"));
	source_read(&s, s.file, 1);
	CHECK(!s.path && s.count == 0 && s.file);
	source_release(&s);
	end();
}

TEST(a_pipe_is_not_waited_for)
{
	struct source_text s = { 0 };

	begin();
	CHECK_EQ(mkfifo(in_top("pipe"), 0600), 0);
	source_read(&s, in_top("pipe"), 1);
	CHECK(!s.path);
	source_release(&s);
	end();
}
