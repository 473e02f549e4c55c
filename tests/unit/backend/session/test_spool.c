/* SPDX-License-Identifier: MIT
 *
 * test_spool.c - which sessions of live views are kept: the newest, and those that somebody writes
 * or shows, however old.
 */
#include "check.h"
#include "session/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MORE (2 * SPOOL_KEEP)

static char folder[] = "/tmp/t_spool.XXXXXX";

static struct session_writer *make(unsigned pid, char path[256])
{
	struct session_writer *w = spool_create("made", pid, path, 256, NULL);

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

	CHECK(mkdtemp(folder) && !setenv("XDG_STATE_HOME", folder, 1));
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
	strcat(strcpy(last, folder), "/memtop");
	CHECK(!rmdir(last) && !rmdir(folder));
}
