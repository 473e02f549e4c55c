/* SPDX-License-Identifier: MIT
 *
 * spool.c - the sessions of live views, so that `w` saves a whole session and a crash loses a
 * second.
 *
 * Names are PROGRAM-PID-YYYYMMDDTHHMMSS.mtop; files with other names are never removed. A file that
 * another view writes or shows is left alone, whatever the count. Not every file system has locks:
 * neither is one that was written in the last seconds removed.
 */
#include "session/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUSY_S 10 /* a live spool gets a block every second */

struct kept {
	char name[NAME_MAX + 1];
	struct timespec mtime;
};

int spool_dir(char *path, size_t size, struct err *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	size_t n = SIZE_MAX;

	if (state && *state == '/')
		n = (size_t)snprintf(path, size, "%s/memtop", state);
	else if (home && *home == '/')
		n = (size_t)snprintf(path, size, "%s/.local/state/memtop", home);
	if (n >= size)
		return err_set(err, 125,
			       "sessions: no folder to save them in; set HOME or XDG_STATE_HOME");
	return 0;
}

/* The folder and those above it, 0700 as the XDG specification says. */
static int make_dirs(char *path)
{
	for (char *slash = path + 1;; slash++) {
		slash = strchrnul(slash, '/');
		char was = *slash;
		*slash = '\0';
		int rc = mkdir(path, 0700);
		*slash = was;
		if (rc && errno != EEXIST)
			return -1;
		if (!was)
			return 0;
	}
}

/* Does the name end so? 0: a digit. */
static bool ends_in(const char *name, const char *pattern)
{
	size_t n = strlen(name), len = strlen(pattern);
	const char *at = name + n - len;

	if (n <= len)
		return false;
	for (const char *p = pattern; *p; p++, at++)
		if (*p == '0' ? *at < '0' || *at > '9' : *at != *p)
			return false;
	return true;
}

#define SPOOL_NAME "-00000000T000000.mtop" /* "...-PID-YYYYMMDDTHHMMSS.mtop" */

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->mtime,
			      *y = &((const struct kept *)b)->mtime;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

static size_t list_kept(const char *dir, const char *pattern, struct kept **list)
{
	DIR *d = opendir(dir);
	size_t n = 0, room = 0;
	struct dirent *e;
	struct stat st;

	*list = NULL;
	while (d && (e = readdir(d))) {
		if (!ends_in(e->d_name, pattern) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		GROW(*list, room, n + 1);
		snprintf((*list)[n].name, sizeof(*list)->name, "%s", e->d_name);
		(*list)[n++].mtime = st.st_mtim;
	}
	if (d)
		closedir(d);
	if (n)
		qsort(*list, n, sizeof **list, newest_first);
	return n;
}

/* A disk that was full, or a view that was killed at its start, leaves a file without a block. */
static bool opens(const char *path, struct err *err)
{
	struct session_reader *r = session_open(path, SESSION_ALL, err);
	uint64_t time_ns, type;
	const uint8_t *payload;
	size_t len;
	bool is = r && session_next(r, &time_ns, &type, &payload, &len, err) > 0;

	if (r && !is && err && !*err->text)
		err_set(err, 3,
			"%s: holds no session: it was cut before its first block; record it again",
			path);
	session_reader_free(r);
	return is;
}

int spool_newest(char *path, size_t size, size_t *passed, struct err *err)
{
	char dir[PATH_MAX];
	struct kept *list;
	struct err why = { 0 }, first = { 0 };
	size_t i = 0;

	if (spool_dir(dir, sizeof dir, NULL))
		return err_set(err, 3,
			       "--last: no folder for sessions; set HOME or XDG_STATE_HOME");
	size_t n = list_kept(dir, SPOOL_NAME, &list);
	for (; i < n; i++) {
		snprintf(path, size, "%s/%s", dir, list[i].name);
		if (opens(path, i ? &why : &first))
			break;
	}
	free(list);
	*passed = i;
	if (!n)
		return err_set(
			err, 3,
			"--last: no session is saved in %s; watch a program first: memtop run PROG",
			dir);
	if (i == n) {
		*err = first;
		return -1;
	}
	return 0;
}

static void prune_all(const char *dir, const char *pattern, size_t keep)
{
	struct kept *list;
	size_t n = list_kept(dir, pattern, &list);
	char path[PATH_MAX + NAME_MAX + 2];
	time_t now = time(NULL);

	for (size_t i = keep; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, list[i].name);
		if (now - list[i].mtime.tv_sec >= BUSY_S && !session_busy(path) &&
		    !session_viewed(path))
			unlink(path);
	}
	free(list);
}

static void prune(const char *dir)
{
	prune_all(dir, SPOOL_NAME, SPOOL_KEEP - 1);
	/* what a view left that was killed while its session became thinner */
	prune_all(dir, SPOOL_NAME SESSION_THIN, 0);
}

struct session_writer *spool_create(const char *program, unsigned pid, char *path, size_t size,
				    struct err *err)
{
	const char *slash = strrchr(program, '/');
	char dir[PATH_MAX], when[32], name[64];
	time_t now = time(NULL);
	struct tm tm;
	struct stat st;

	if (spool_dir(dir, sizeof dir, err))
		return NULL;
	if (make_dirs(dir)) {
		err_set(err, 125, "%s: the session cannot be saved there: %s; set XDG_STATE_HOME",
			dir, strerror(errno));
		return NULL;
	}
	prune(dir);
	snprintf(name, sizeof name, "%.60s", slash ? slash + 1 : program);
	for (char *c = name; *c; c++)
		if (*c <= ' ' || *c == 127)
			*c = '_';
	do { /* two viewers of one process within a second */
		strftime(when, sizeof when, "%Y%m%dT%H%M%S", gmtime_r(&now, &tm));
		if ((size_t)snprintf(path, size, "%s/%s-%u-%s.mtop", dir, *name ? name : "program",
				     pid, when) >= size) {
			err_set(err, 125,
				"%s: the path for sessions is too long; set XDG_STATE_HOME", dir);
			return NULL;
		}
		now++;
	} while (lstat(path, &st) == 0);
	const char *max = getenv("MEMTOP_TEST_SPOOL_MAX");
	return session_create(path, max ? strtoull(max, NULL, 10) : SPOOL_MAX_BYTES, err);
}
