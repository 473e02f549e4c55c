/* SPDX-License-Identifier: MIT
 *
 * test_spool.c - which sessions of live views are kept: the newest, and those that somebody writes
 * or shows, however old.
 */
#include "check.h"
#include "session/spool.h"

#include <fcntl.h>
#include <limits.h>
#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MORE (2 * SPOOL_KEEP)

static char folder[32];

static void begin(void)
{
	strcpy(folder, "/tmp/t_spool.XXXXXX");
	CHECK(mkdtemp(folder) && !setenv("XDG_STATE_HOME", folder, 1));
}

static void end(void)
{
	char path[64];

	snprintf(path, sizeof path, "%s/memtop", folder);
	CHECK(!rmdir(path) && !rmdir(folder));
}

static struct session_writer *make(unsigned pid, char path[256])
{
	struct session_writer *w = spool_create("made", pid, SPOOL_KEEP, path, 256, NULL);

	CHECK(w);
	return w;
}

static void written_before(const char *path, time_t seconds)
{
	struct timespec then = { .tv_sec = time(NULL) - seconds };

	CHECK(!utimensat(AT_FDCWD, path, (struct timespec[]){ then, then }, 0));
}

static void make_more(unsigned pid, char path[256], time_t before)
{
	CHECK(!session_close(make(pid, path), NULL));
	written_before(path, before);
}

static bool is_there(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

TEST(no_session_goes_while_it_is_written_or_shown)
{
	char written[256], shown[256], more[MORE][256], last[256];

	begin();
	struct session_writer *w = make(1, written);
	written_before(written, 7200);
	make_more(2, shown, 7200);
	int view = session_view(shown);
	CHECK(view >= 0);
	for (unsigned i = 0; i < MORE; i++)
		make_more(3 + i, more[i], 3600 - i);
	CHECK(is_there(written) && is_there(shown));
	CHECK(!is_there(more[0]) && is_there(more[MORE - 1]));
	close(view);
	CHECK(!session_close(w, NULL));
	written_before(written, 7200);
	make_more(99, last, 0);
	CHECK(!is_there(written) && !is_there(shown) && is_there(last));
	for (unsigned i = 0; i < MORE; i++)
		unlink(more[i]);
	unlink(last);
	end();
}

/* A block, so that it opens. */
static struct session_writer *filled(const char *program, unsigned pid, unsigned keep,
				     char path[256])
{
	struct session_writer *w = spool_create(program, pid, keep, path, 256, NULL);
	const uint8_t note[2] = { 1, 'x' };

	CHECK(w && !session_frame(w, 0, 90000000000ull, MTW_S_NOTE, note, sizeof note, NULL));
	CHECK(!session_flush(w, NULL));
	return w;
}

/* Two views at once: --last is what is left of the one that ended, whoever wrote last. */
TEST(the_last_session_is_one_that_ended)
{
	char ended[256], running[256], path[PATH_MAX];
	size_t passed;
	struct err err;

	begin();
	CHECK(!session_close(filled("one", 11, 9, ended), NULL));
	written_before(ended, 100);
	struct session_writer *w = filled("t-w-o", 22, 9, running);
	CHECK(!spool_newest(path, sizeof path, NULL, &passed, &err) && !passed);
	CHECK_STR(path, ended);
	CHECK(!spool_newest(path, sizeof path, "22", &passed, &err) && !passed);
	CHECK_STR(path, running);
	CHECK(!spool_newest(path, sizeof path, "t-w-o", &passed, &err) && !passed);
	CHECK_STR(path, running);
	CHECK(spool_newest(path, sizeof path, "33", &passed, &err) == -1);
	CHECK(strstr(err.text, "--last 33: no session of it"));

	struct spooled *list;
	CHECK_EQ(spool_list(&list, &err), 2);
	CHECK_STR(list[0].program, "t-w-o");
	CHECK(list[0].pid == 22 && list[0].written && !list[0].viewed);
	CHECK(list[1].pid == 11 && !list[1].written && time(NULL) - list[1].begun < 60);
	struct session_reader *r = session_open(list[1].path, SESSION_ALL, &err);
	CHECK_EQ(session_length(r), 90000000000ull);
	session_reader_free(r);
	free(list);

	CHECK(!session_close(w, NULL));
	written_before(running, 50);
	CHECK(!spool_newest(path, sizeof path, NULL, &passed, &err));
	CHECK_STR(path, running);
	unlink(ended);
	unlink(running);
	end();
}

TEST(so_many_stay_as_were_asked_for)
{
	char more[MORE][256];
	unsigned there = 0;

	begin();
	for (unsigned i = 0; i < MORE; i++) {
		CHECK(!session_close(filled("made", i, MORE - 3, more[i]), NULL));
		written_before(more[i], 3600 - i);
	}
	for (unsigned i = 0; i < MORE; i++)
		there += is_there(more[i]);
	CHECK_EQ(there, MORE - 3);
	for (unsigned i = 0; i < MORE; i++)
		unlink(more[i]);
	end();
}
