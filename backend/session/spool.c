/* SPDX-License-Identifier: MIT
 *
 * spool.c - the sessions of live views, so that `w` saves a whole session and a crash loses a
 * second.
 *
 * Names are PROGRAM-PID-YYYYMMDDTHHMMSS.mtop, in UTC; files with other names are never removed. A
 * file that another view writes or shows is left alone, whatever the count. Not every file system
 * has locks: neither is one that was written in the last seconds removed.
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
	const struct spooled *x = a, *y = b;

	if (x->written != y->written)
		return x->written ? -1 : 1;
	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? 1 : -1;
	return (x->changed.tv_nsec < y->changed.tv_nsec) -
	       (x->changed.tv_nsec > y->changed.tv_nsec);
}

/* PROGRAM-PID-TIME.mtop; the program's name may have dashes, too. */
static void read_name(struct spooled *s, const char *name)
{
	size_t len = strlen(name) - strlen("00000000T000000.mtop") - 1;
	const char *dash = memrchr(name, '-', len);
	struct tm tm = { 0 };

	snprintf(s->program, sizeof s->program, "%.*s", (int)((dash ? dash : name + len) - name),
		 name);
	s->pid = dash ? (unsigned)strtoul(dash + 1, NULL, 10) : 0;
	strptime(name + len + 1, "%Y%m%dT%H%M%S", &tm);
	s->begun = timegm(&tm);
}

static size_t list_kept(const char *dir, const char *pattern, struct spooled **list)
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
		struct spooled *s = &(*list)[n];
		*s = (struct spooled){ .changed = st.st_mtim, .bytes = (uint64_t)st.st_size };
		if ((size_t)snprintf(s->path, sizeof s->path, "%s/%s", dir, e->d_name) >=
		    sizeof s->path)
			continue;
		read_name(s, e->d_name);
		s->written = session_busy(s->path);
		s->viewed = session_viewed(s->path);
		n++;
	}
	if (d)
		closedir(d);
	if (n)
		qsort(*list, n, sizeof **list, newest_first);
	return n;
}

long spool_list(struct spooled **list, struct err *err)
{
	char dir[PATH_MAX];

	if (spool_dir(dir, sizeof dir, err))
		return -1;
	return (long)list_kept(dir, SPOOL_NAME, list);
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

static bool is_of(const struct spooled *s, const char *of)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%u", s->pid);
	return !of || !strcmp(of, pid) || !strcmp(of, s->program);
}

int spool_newest(char *path, size_t size, const char *of, size_t *passed, struct err *err)
{
	struct spooled *list;
	struct err why = { 0 }, first = { 0 };
	char dir[PATH_MAX];
	bool found = false;

	if (spool_dir(dir, sizeof dir, NULL))
		return err_set(err, 3,
			       "--last: no folder for sessions; set HOME or XDG_STATE_HOME");
	size_t n = list_kept(dir, SPOOL_NAME, &list), wrong = 0;
	for (int written = 0; written <= 1 && !found; written++)
		for (size_t i = 0; i < n && !found; i++) {
			if (list[i].written != written || !is_of(&list[i], of))
				continue;
			snprintf(path, size, "%s", list[i].path);
			found = opens(path, wrong ? &why : &first);
			wrong += !found;
		}
	free(list);
	*passed = wrong;
	if (found)
		return 0;
	if (wrong) {
		*err = first;
		return -1;
	}
	return of ? err_set(err, 3,
			    "--last %s: no session of it is saved in %s; see memtop open --list",
			    of, dir)
		  : err_set(err, 3,
			    "--last: no session is saved in %s; watch a program first: memtop run "
			    "PROG",
			    dir);
}

static void prune_all(const char *dir, const char *pattern, size_t keep)
{
	struct spooled *list;
	size_t n = list_kept(dir, pattern, &list);
	time_t now = time(NULL);

	for (size_t i = keep; i < n; i++)
		if (now - list[i].changed.tv_sec >= BUSY_S && !session_busy(list[i].path) &&
		    !session_viewed(list[i].path))
			unlink(list[i].path);
	free(list);
}

static void prune(const char *dir, unsigned keep)
{
	prune_all(dir, SPOOL_NAME, keep - 1);
	/* what a view left that was killed while its session became thinner */
	prune_all(dir, SPOOL_NAME SESSION_THIN, 0);
}

struct session_writer *spool_create(const char *program, unsigned pid, unsigned keep, char *path,
				    size_t size, struct err *err)
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
	prune(dir, keep);
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
