/* SPDX-License-Identifier: MIT
 *
 * thin.c - a session file that has grown gives way to a thinner one (session/session.h has the
 * rule, link/thin.c applies it).
 *
 * A forked child reads the whole blocks so far and writes the new file beside the old one, so the
 * screen and the recording go on. The writer then appends the blocks that came meanwhile, takes the
 * lock, and renames. Until the rename the old file is the session, complete at any moment; whoever
 * has it open goes on with it. No key frame is made meanwhile: each names an offset in its file.
 */
#include "session/writer.h"

#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THIN_LEAST (8u << 20)
#define THIN_TIMES 2u
#define LIMIT_PART 8u /* of a file with a limit: the room that is left when it is thinned */

static uint64_t least(void)
{
	const char *test = getenv("MEMTOP_TEST_THIN_BYTES");

	return test ? strtoull(test, NULL, 10) : THIN_LEAST;
}

/* A file with a limit is thinned before it reaches that. */
static void set_next(struct session_writer *w, uint64_t bytes)
{
	uint64_t first = least(), last = w->max_bytes - w->max_bytes / LIMIT_PART;

	w->thinning.least = bytes > first ? bytes : first;
	if (w->max_bytes && w->written < last && w->thinning.least > last)
		w->thinning.least = last;
}

/* Is the path still this file, and can another take its place? A link, or another owner or name of
 * the file, would be lost. */
static bool may_replace(const struct session_writer *w)
{
	struct stat at, own;

	return !lstat(w->path, &at) && !fstat(w->fd, &own) && at.st_dev == own.st_dev &&
	       at.st_ino == own.st_ino && S_ISREG(at.st_mode) && at.st_nlink == 1 &&
	       at.st_uid == geteuid();
}

static bool is_due(struct session_writer *w)
{
	if (!w->thinning.least)
		set_next(w, 0);
	return !w->keys_under_way && !*w->failed.text && w->written >= w->thinning.least;
}

static void forget_child(struct session_writer *w)
{
	close(w->thinning.kept);
	free(w->thinning.path);
	w->thinning.path = NULL;
	w->thinning.pid = 0;
}

static int give_up(struct session_writer *w, int why, struct err *err)
{
	unlink(w->thinning.path);
	forget_child(w);
	set_next(w, w->written * THIN_TIMES);
	if (w->thinning.told || !why)
		return 0;
	w->thinning.told = true;
	return err_set(err, 125,
		       "%s: cannot be thinned out: %s; it is whole, and grows on without that",
		       w->path, why == ENOSPC ? "disk full" : strerror(why));
}

/* --- in the child */

/* With a killed writer its lock must go at once, and this may be long in dying. */
static _Noreturn void child(const struct session_writer *w, pid_t writer, session_rewrite *rewrite)
{
	child_begin(-1);
	close(w->fd);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != writer)
		_exit(ESRCH);
	signal(SIGXFSZ, SIG_IGN);
	if (nice(10) < 0)
		errno = 0;
	int why = rewrite(w->path, w->thinning.bytes, w->thinning.path, w->thinning.kept);
	/* A machine that stops after the rename finds a whole file. */
	int fd = why ? -1 : open(w->thinning.path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fdatasync(fd))
		why = errno;
	_exit(why & 255);
}

/* The file is ours alone: nobody's link is followed, and what a killed one left goes. */
static int make_file(const char *path)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int start(struct session_writer *w, session_rewrite *rewrite, struct err *err)
{
	struct thinning *t = &w->thinning;

	t->kept = memfd_create("memtop-thin", MFD_CLOEXEC);
	if (t->kept < 0)
		return 0;
	t->path = xasprintf("%s" SESSION_THIN, w->path);
	t->bytes = w->written;
	int why = make_file(t->path);
	if (why)
		return give_up(w, why, err);
	pid_t writer = getpid();
	t->pid = fork();
	if (t->pid == 0)
		child(w, writer, rewrite);
	if (t->pid < 0)
		return give_up(w, errno, err);
	return 0;
}

/* --- the new file takes the place */

struct heir {
	int fd;
	uint64_t bytes; /* of whole blocks */
	unsigned version;
	struct session_entry *index;
	size_t count, room;
};

static void enter(struct heir *h, const struct session_entry *e)
{
	GROW(h->index, h->room, h->count + 1);
	h->index[h->count++] = *e;
}

/* The index by the heads of its blocks; what lies behind them is cut off. */
static int find_blocks(struct heir *h)
{
	uint8_t head[SESSION_BLOCK_OF_HEAD];

	if (pread(h->fd, head, SESSION_HEAD, 0) != SESSION_HEAD)
		return -EIO;
	h->version = (unsigned)session_get(head + 8, 2);
	h->bytes = SESSION_HEAD;
	while (pread(h->fd, head, sizeof head, (off_t)h->bytes) == sizeof head) {
		bool of = !memcmp(head, SESSION_BLOCK_OF, 4);
		if (!of && memcmp(head, SESSION_BLOCK, 4))
			break;
		enter(h, &(struct session_entry){ h->bytes, session_get(head + 12, 8),
						  session_get(head + 20, 8),
						  of ? session_get(head + 28, 4) : 0 });
		h->bytes += (of ? SESSION_BLOCK_OF_HEAD : SESSION_BLOCK_HEAD) +
			    session_get(head + 4, 4);
	}
	if (ftruncate(h->fd, (off_t)h->bytes) || lseek(h->fd, (off_t)h->bytes, SEEK_SET) < 0)
		return -errno;
	return 0;
}

/* The blocks that the old file got since the child began. */
static int append_rest(const struct session_writer *w, struct heir *h)
{
	uint64_t from = w->thinning.bytes, to = h->bytes;
	int old = open(w->path, O_RDONLY | O_CLOEXEC), rc = old < 0 ? -errno : 0;
	uint8_t *bytes = xmalloc(w->written - from + 1);

	if (!rc &&
	    pread(old, bytes, w->written - from, (off_t)from) != (ssize_t)(w->written - from))
		rc = -EIO;
	if (!rc)
		rc = session_write_all(h->fd, bytes, w->written - from);
	for (size_t i = 0; i < w->index_len && !rc; i++) {
		struct session_entry e = w->index[i];
		if (e.offset < from)
			continue;
		e.offset = e.offset - from + to;
		enter(h, &e);
	}
	h->bytes += w->written - from;
	h->version = w->version > h->version ? w->version : h->version;
	free(bytes);
	if (old >= 0)
		close(old);
	return rc;
}

static int set_head(const struct session_writer *w, const struct heir *h)
{
	const uint8_t version[2] = { (uint8_t)h->version };
	struct stat st;

	if (pwrite(h->fd, version, sizeof version, 8) != sizeof version)
		return -EIO;
	return fstat(w->fd, &st) || fchmod(h->fd, st.st_mode & 07777) ? -errno : 0;
}

/* 0, or why not; the caller closes the file that is left in h. */
static int inherit(struct session_writer *w, struct heir *h)
{
	int rc = find_blocks(h);

	if (!rc)
		rc = append_rest(w, h);
	if (!rc)
		rc = set_head(w, h);
	if (rc)
		return -rc;
	flock(h->fd, LOCK_EX | LOCK_NB);
	if (!may_replace(w))
		return EBUSY;
	return rename(w->thinning.path, w->path) ? errno : 0;
}

static void take_ticks(struct session_writer *w)
{
	struct thinning *t = &w->thinning;
	off_t len = lseek(t->kept, 0, SEEK_END);
	size_t bytes = len > 0 ? (size_t)len : 0;

	t->ticks = xrealloc(t->ticks, bytes + 1);
	if (pread(t->kept, t->ticks, bytes, 0) != (ssize_t)bytes)
		bytes = 0;
	t->tick_count = bytes / sizeof *t->ticks;
}

static int take(struct session_writer *w, struct err *err)
{
	struct heir h = { .fd = open(w->thinning.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) };
	int why = h.fd < 0 ? errno : inherit(w, &h);

	if (why) {
		if (h.fd >= 0)
			close(h.fd);
		free(h.index);
		return give_up(w, why, err);
	}
	close(w->fd);
	w->fd = h.fd;
	w->index_len = w->key_count = 0;
	for (size_t i = 0; i < h.count; i++)
		session_enter(w, &h.index[i]);
	free(h.index);
	w->version = h.version;
	w->written = h.bytes;
	take_ticks(w);
	w->thinning.times++;
	forget_child(w);
	set_next(w, w->written * THIN_TIMES);
	return 0;
}

int session_thin(struct session_writer *w, session_rewrite *rewrite, struct err *err)
{
	int status;

	if (!w->thinning.pid) {
		if (!is_due(w))
			return 0;
		if (may_replace(w))
			return start(w, rewrite, err);
		set_next(w, w->written * THIN_TIMES);
		return 0;
	}
	pid_t pid = waitpid(w->thinning.pid, &status, WNOHANG);
	if (!pid || (pid < 0 && errno == EINTR))
		return 0;
	if (*w->failed.text)
		return give_up(w, 0, err);
	if (pid < 0 || !WIFEXITED(status))
		return give_up(w, EIO, err);
	return WEXITSTATUS(status) ? give_up(w, WEXITSTATUS(status), err) : take(w, err);
}

bool session_thins(const struct session_writer *w)
{
	return w->thinning.pid != 0;
}

void session_keep_whole(struct session_writer *w)
{
	w->thinning.least = UINT64_MAX;
}

void session_thin_stop(struct session_writer *w)
{
	if (!w->thinning.pid)
		return;
	kill(w->thinning.pid, SIGKILL);
	while (waitpid(w->thinning.pid, NULL, 0) < 0 && errno == EINTR)
		;
	unlink(w->thinning.path);
	forget_child(w);
}

size_t session_thinned(const struct session_writer *w, uint32_t stream, unsigned *times,
		       const uint64_t **ticks)
{
	const uint64_t *list = w->thinning.ticks;
	size_t n = w->thinning.tick_count;
	bool news = *times != w->thinning.times;

	*times = w->thinning.times;
	for (size_t at = 0; news && at + 2 <= n && list[at + 1] <= n - at - 2;
	     at += 2 + list[at + 1])
		if (list[at] == stream) {
			*ticks = list + at + 2;
			return list[at + 1];
		}
	return 0;
}
