/* SPDX-License-Identifier: MIT
 *
 * file.c - the session file of a recording: its name and the check that it can be written.
 */
#include "cli/record/recording.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OLD ".old"

/* NAME.YYYYMMDD-HHMMSS.mtop in the current folder. */
static void default_path(const char *what, char *path, size_t size)
{
	const char *slash = strrchr(what, '/');
	char stamp[32];
	time_t now = time(NULL);
	struct tm tm;

	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	snprintf(path, size, "%.200s.%s.mtop", slash ? slash + 1 : what, stamp);
	for (char *c = path; *c; c++)
		if (*c == '/' || *c == ':' || *c == '@')
			*c = '_';
}

void record_choose_path(struct recording *r, const struct args *a, const char *what)
{
	r->path_made_up = !a->output;
	if (a->output)
		snprintf(r->path, sizeof r->path, "%s", a->output);
	else
		default_path(what, r->path, sizeof r->path);
}

/* A session is not lost to a second recording: as perf does, the one before is kept aside. */
static int keep_aside(struct recording *r, struct err *err)
{
	char *real = realpath(r->path, NULL);
	size_t n = (size_t)snprintf(r->aside, sizeof r->aside, "%s" OLD, real ? real : "");

	if (!real || n >= sizeof r->aside || rename(real, r->aside)) {
		err_set(err, STATUS_OURS,
			"%s: not overwritten: the session there cannot be renamed to " OLD ": %s; "
			"choose another -o",
			r->path, strerror(real ? errno : ENOENT));
		r->aside[0] = '\0';
	}
	free(real);
	return *r->aside ? 0 : -1;
}

/* Nothing was recorded: the file is what it was. */
static void put_back(const struct recording *r)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%.*s", (int)(strlen(r->aside) - strlen(OLD)), r->aside);
	rename(r->aside, path);
}

int record_check_writable(struct recording *r, struct err *err)
{
	struct stat st = { 0 };

	r->created = lstat(r->path, &st) != 0; /* a dangling link is the user's, too */
	if (!r->created && stat(r->path, &st))
		st.st_mode = 0;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return err_set(err, STATUS_OURS,
			       "%s: cannot be written: a session needs a plain file, not a pipe or "
			       "socket; choose another -o",
			       r->path);
	if (S_ISBLK(st.st_mode))
		return err_set(err, STATUS_OURS,
			       "%s: not overwritten: it is a disk; choose another -o", r->path);
	if (S_ISREG(st.st_mode) && st.st_size > 0 && !session_file(r->path))
		return err_set(err, STATUS_OURS,
			       "%s: not overwritten: it is not a session file; choose another -o",
			       r->path);
	if (session_busy(r->path))
		return err_set(err, STATUS_OURS, SESSION_BUSY, r->path);
	if (S_ISREG(st.st_mode) && st.st_size > 0 && keep_aside(r, err))
		return -1;
	int fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 && *r->aside)
		put_back(r);
	if (fd < 0)
		return err_set(err, STATUS_OURS, "%s: cannot be written: %s; choose another -o",
			       r->path, strerror(errno));
	close(fd);
	return 0;
}

void record_remove(const struct recording *r)
{
	if (*r->aside)
		put_back(r);
	else if (r->created && !session_busy(r->path))
		unlink(r->path);
}

int record_give_up(const struct recording *r, const struct err *err, int status)
{
	record_remove(r);
	return args_fail(err, status);
}
