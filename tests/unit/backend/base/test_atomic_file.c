/* SPDX-License-Identifier: MIT
 *
 * test_atomic_file.c - which files a new file may replace.
 */
#include "check.h"
#include "base/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[4][128];
	static int at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
	return path[at];
}

static void enter(void)
{
	strcpy(folder, "/tmp/memtop-replace-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static bool holds(const char *path, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	size_t n = fread(buf, 1, sizeof buf - 1, f);
	fclose(f);
	return n == strlen(text) && !strcmp(buf, text);
}

TEST(takes_the_place_of_a_file)
{
	struct replacement r;
	struct err err = { 0 };

	enter();
	put(in_folder("a.part"), "the user's");
	CHECK_EQ(atomic_file_begin(&r, in_folder("a"), &err), 0);
	put(r.part, "new");
	CHECK(access(in_folder("a"), F_OK) != 0);
	CHECK_EQ(atomic_file_end(&r, &err), 0);
	CHECK(holds(in_folder("a"), "new") && holds(in_folder("a.part"), "the user's"));
	CHECK_EQ(atomic_file_begin(&r, in_folder("a"), &err), 0);
	atomic_file_give_up(&r);
	CHECK(holds(in_folder("a"), "new") && access(r.part, F_OK) != 0);
}

TEST(a_link_stays_one)
{
	struct replacement r;
	struct err err = { 0 };
	struct stat st;

	enter();
	put(in_folder("a"), "old");
	CHECK_EQ(symlink(in_folder("a"), in_folder("link")), 0);
	CHECK_EQ(atomic_file_begin(&r, in_folder("link"), &err), 0);
	put(r.part, "new");
	CHECK_EQ(atomic_file_end(&r, &err), 0);
	CHECK(holds(in_folder("a"), "new"));
	CHECK(lstat(in_folder("link"), &st) == 0 && S_ISLNK(st.st_mode));
}

TEST(keeps_what_is_no_file)
{
	static const char *const names[] = { "fifo", "folder", "dangling", "device" };
	struct replacement r;
	struct stat before, after;

	enter();
	CHECK_EQ(mkfifo(in_folder("fifo"), 0600), 0);
	CHECK_EQ(mkdir(in_folder("folder"), 0700), 0);
	CHECK_EQ(symlink(in_folder("nowhere"), in_folder("dangling")), 0);
	CHECK_EQ(symlink("/dev/null", in_folder("device")), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct err err = { 0 };
		CHECK_EQ(lstat(in_folder(names[i]), &before), 0);
		CHECK(atomic_file_begin(&r, in_folder(names[i]), &err) != 0);
		CHECK(strstr(err.text, i == 2 ? "a dangling link" : "not a plain file") != NULL);
		CHECK(lstat(in_folder(names[i]), &after) == 0 && before.st_ino == after.st_ino);
	}
	CHECK(access(in_folder("nowhere"), F_OK) != 0);
}
