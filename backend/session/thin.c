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

#include "base/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOSE_PART 3u /* of a file, by which it is thinned */
#define SAVED_PART 8u /* a thinning that saves less than this was in vain, */
#define VAIN_TIMES 2u /* as was one that failed: the file grows so many times before the next */

struct thinner {
	struct session_thinning job;
	struct worker *worker;
	session_rewrite *rewrite;
	char *path;         /* of the new file, owned */
	uint64_t raw_bytes; /* of the old one, up to job.bytes */
	int why;            /* its result, when done: 0 or an errno */
};

/* Is the path still this file, and can another take its place? A link, or another owner or name of
 * the file, would be lost. */
static bool may_replace(const struct session_writer *w)
{
	struct stat at, own;

	return !lstat(w->path, &at) && !fstat(w->fd, &own) && at.st_dev == own.st_dev &&
	       at.st_ino == own.st_ino && S_ISREG(at.st_mode) && at.st_nlink == 1 &&
	       at.st_uid == geteuid();
}

static bool is_due(const struct session_writer *w)
{
	uint64_t loose = 0;

	for (size_t i = 0; i < w->tick_count; i++)
		loose += session_loose(&w->ticks[i]);
	return !w->keys_under_way && !*w->failed.text && w->written >= w->thinning.least &&
	       loose >= w->raw_bytes / LOOSE_PART;
}

static void work(void *arg)
{
	struct thinner *x = arg;

	x->why = x->rewrite(&x->job);
	/* A machine that stops after the rename finds a whole file. */
	if (!x->why && !x->job.stop && fdatasync(x->job.to->fd))
		x->why = errno;
}

/* Waits for its thread. The ticks that it kept stay for session_thinned(). */
static void forget(struct session_writer *w)
{
	struct thinner *x = w->thinning.now;

	worker_free(x->worker);
	session_abandon(x->job.to);
	unlink(x->path); /* unless it was renamed */
	free(x->path);
	session_ticks_free(x->job.streams, x->job.count);
	free(x);
	w->thinning.now = NULL;
}

static int give_up(struct session_writer *w, int why, struct err *err)
{
	w->thinning.least = w->written * VAIN_TIMES;
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

static void copy_notes(struct session_writer *w, struct session_thinning *job)
{
	size_t room = 0;

	for (size_t i = 0; i < w->tick_count; i++) {
		struct session_ticks *t = &w->ticks[i];
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
		session_not_loose(t);
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
	x->raw_bytes = w->raw_bytes;
	copy_notes(w, &x->job);
	w->thinning.now = x;
	x->worker = worker_new();
	if (x->worker) {
		worker_begin(x->worker, work, x);
		return 0;
	}
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
	bool vain = to->written > w->written - w->written / SAVED_PART;

	if (taken) {
		w->raw_bytes += to->raw_bytes - x->raw_bytes;
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
	w->thinning.least = vain ? w->written * VAIN_TIMES : session_thin_least();
	return 0;
}

int session_thin(struct session_writer *w, session_rewrite *rewrite, struct err *err)
{
	struct thinner *x = w->thinning.now;

	if (x) {
		if (worker_busy(x->worker))
			return 0;
		worker_wait(x->worker);
		return take(w, err);
	}
	if (!is_due(w))
		return 0;
	if (may_replace(w))
		return start(w, rewrite, err);
	w->thinning.least = w->written * VAIN_TIMES;
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
