/* SPDX-License-Identifier: MIT
 *
 * thin.c - a session file that has grown gives way to a thinner one (session/session.h has the
 * rule, link/thin applies it).
 *
 * What the rule must know of the ticks is noted while they are written, so the file is read once.
 * A thread reads the whole blocks so far and writes the new file beside the old one, so the screen
 * and the recording go on. The writer then appends the blocks that came meanwhile, takes the new
 * file from the thread's writer, and renames. Until the rename the old file is the session,
 * complete at any moment; whoever has it open goes on with it. No key frame is made meanwhile: each
 * names an offset in its file.
 */
#include "session/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THIN_LEAST (8u << 20)
#define THIN_TIMES 2u
#define LIMIT_PART 8u /* of a file with a limit: the room that is left when it is thinned */
#define NICE 10       /* the screen and the recording come first */

struct thinner {
	struct session_thinning job;
	pthread_t thread;
	session_rewrite *rewrite;
	char *path; /* of the new file, owned */
	int why;    /* its result, when done: 0 or an errno */
	_Atomic bool done;
};

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

static void *work(void *arg)
{
	struct thinner *x = arg;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	x->why = x->rewrite(&x->job);
	/* A machine that stops after the rename finds a whole file. */
	if (!x->why && !x->job.stop && fdatasync(x->job.to->fd))
		x->why = errno;
	atomic_store_explicit(&x->done, true, memory_order_release);
	return NULL;
}

static bool begin_thread(struct thinner *x)
{
	sigset_t all, before;

	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&x->thread, NULL, work, x);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !rc;
}

/* Its thread has ended. The ticks that it kept stay for session_thinned(). */
static void forget(struct session_writer *w)
{
	struct thinner *x = w->thinning.now;

	session_abandon(x->job.to);
	unlink(x->path); /* unless it was renamed */
	free(x->path);
	session_ticks_free(x->job.streams, x->job.count);
	free(x);
	w->thinning.now = NULL;
}

static int give_up(struct session_writer *w, int why, struct err *err)
{
	set_next(w, w->written * THIN_TIMES);
	if (w->thinning.told || !why)
		return 0;
	w->thinning.told = true;
	return err_set(err, 125,
		       "%s: cannot be thinned out: %s; it is whole, and grows on without that",
		       w->path, why == ENOSPC ? "disk full" : strerror(why));
}

/* The file is ours alone: nobody's link is followed, and what a killed one left goes. NULL and
 * errno. */
static struct session_writer *make_file(const char *path)
{
	struct err none = { 0 };

	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	close(fd);
	return session_create(path, 0, &none);
}

static void copy_notes(const struct session_writer *w, struct session_thinning *job)
{
	size_t room = 0;

	for (size_t i = 0; i < w->tick_count; i++) {
		const struct session_ticks *t = &w->ticks[i];
		struct session_ticks *x =
			session_ticks_add(&job->streams, &job->count, &room, t->stream);
		x->last_ns = t->last_ns;
		GROW(x->pins, x->pin_room, t->pin_count);
		memcpy(x->pins, t->pins, t->pin_count * sizeof *x->pins);
		x->pin_count = t->pin_count;
		for (size_t k = 0; k < w->key_count; k++)
			if (w->keys[k].stream == t->stream) {
				GROW(x->keys, x->key_room, x->key_count + 1);
				x->keys[x->key_count++] = w->keys[k].key;
			}
	}
}

static int start(struct session_writer *w, session_rewrite *rewrite, struct err *err)
{
	char *path = xasprintf("%s" SESSION_THIN, w->path);
	struct session_writer *to = make_file(path);
	int why = errno;

	if (!to) {
		free(path);
		return give_up(w, why ? why : EIO, err);
	}
	struct thinner *x = xcalloc(1, sizeof *x);
	x->job.from = w->path;
	x->job.bytes = w->written;
	x->job.to = to;
	x->rewrite = rewrite;
	x->path = path;
	copy_notes(w, &x->job);
	w->thinning.now = x;
	if (begin_thread(x))
		return 0;
	forget(w);
	return give_up(w, EAGAIN, err);
}

/* The blocks that the old file got since the thread began. 0 or an errno. */
static int append_rest(const struct session_writer *w, struct session_writer *to)
{
	uint64_t from = w->thinning.now->job.bytes, at = to->written;
	int old = open(w->path, O_RDONLY | O_CLOEXEC), rc = old < 0 ? -errno : 0;

	if (!rc)
		rc = session_copy_bytes(old, from, to->fd, w->written - from);
	if (old >= 0)
		close(old);
	for (size_t i = 0; i < w->index_len && !rc; i++) {
		struct session_entry e = w->index[i];
		if (e.offset < from)
			continue;
		e.offset = e.offset - from + at;
		session_enter(to, &e);
	}
	to->written += w->written - from;
	return rc < 0 ? -rc : rc ? EIO : 0;
}

static int replace(struct session_writer *w, struct session_writer *to)
{
	struct stat st;
	int why = append_rest(w, to);

	if (!why && w->version > to->version)
		why = -session_raise_version(to);
	if (why)
		return why;
	if (fstat(w->fd, &st) || fchmod(to->fd, st.st_mode & 07777))
		return errno;
	if (!may_replace(w))
		return EBUSY;
	return rename(w->thinning.now->path, w->path) ? errno : 0;
}

#define SWAP(a, b)                                                                                 \
	do {                                                                                       \
		__typeof__(a) kept = a;                                                            \
		a = b;                                                                             \
		b = kept;                                                                          \
	} while (0)

static int take(struct session_writer *w, struct err *err)
{
	struct thinner *x = w->thinning.now;
	struct session_writer *to = x->job.to;
	int why = *w->failed.text ? 0 : x->why ? x->why : replace(w, to);
	bool taken = !why && !*w->failed.text;

	if (taken) {
		SWAP(w->fd, to->fd);
		SWAP(w->written, to->written);
		SWAP(w->version, to->version);
		SWAP(w->index, to->index);
		SWAP(w->index_len, to->index_len);
		SWAP(w->index_room, to->index_room);
		SWAP(w->keys, to->keys);
		SWAP(w->key_count, to->key_count);
		SWAP(w->key_room, to->key_room);
		SWAP(w->thinning.last, x->job.streams);
		SWAP(w->thinning.last_count, x->job.count);
		w->key_open = 0;
		w->thinning.times++;
	}
	forget(w);
	if (!taken)
		return give_up(w, why, err);
	set_next(w, w->written * THIN_TIMES);
	return 0;
}

int session_thin(struct session_writer *w, session_rewrite *rewrite, struct err *err)
{
	struct thinner *x = w->thinning.now;

	if (x) {
		if (!atomic_load_explicit(&x->done, memory_order_acquire))
			return 0;
		pthread_join(x->thread, NULL);
		return take(w, err);
	}
	if (!is_due(w))
		return 0;
	if (may_replace(w))
		return start(w, rewrite, err);
	set_next(w, w->written * THIN_TIMES);
	return 0;
}

bool session_thins(const struct session_writer *w)
{
	return w->thinning.now != NULL;
}

void session_keep_whole(struct session_writer *w)
{
	w->thinning.least = UINT64_MAX;
}

void session_thin_stop(struct session_writer *w)
{
	if (!w->thinning.now)
		return;
	atomic_store(&w->thinning.now->job.stop, true);
	pthread_join(w->thinning.now->thread, NULL);
	forget(w);
}

size_t session_thinned(const struct session_writer *w, uint32_t stream, unsigned *times,
		       const uint64_t **ticks)
{
	bool news = *times != w->thinning.times;

	*times = w->thinning.times;
	for (size_t i = 0; news && i < w->thinning.last_count; i++)
		if (w->thinning.last[i].stream == stream) {
			*ticks = w->thinning.last[i].kept;
			return w->thinning.last[i].kept_count;
		}
	return 0;
}
