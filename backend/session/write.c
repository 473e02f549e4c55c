/* SPDX-License-Identifier: MIT
 *
 * write.c - the session file's writer. Main thread only.
 *
 * Frames gather in memory, by stream, and leave as one compressed block when it is full, or, of a
 * live session, a second old, in one write: a killed recorder loses a second at most. The file
 * changes before its end in two cases only: a block that a full disk cut short is truncated away,
 * and the first block of another stream than 0 raises the version in the head. A thinner one may
 * take its place (session/thin.c).
 *
 *   written = bytes of whole blocks (and the head) in the file
 */
#include "session/session.h"
#include "session/format.h"
#include "session/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define BLOCK_NS 1000000000ull
/* a first state of 10 MB in some 40 ms; 19 would halve the file and block the screen */
#define LEVEL 3
#define KEY_LEAST (1u << 20) /* bytes of blocks between two key frames, and */
#define KEY_TIMES 4u         /* so many times those of the key frame before */
#define KEY_AT_END 8u /* the last one of a file: after a part of the least, or its own size */

/* 0 or -errno */
static int write_all(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The time that stream 0 has reached in the file. */
static double saved_seconds(const struct session_writer *w)
{
	size_t i = w->index_len;

	while (i && w->index[i - 1].stream) /* of a key frame, too */
		i--;
	return i ? (double)w->index[i - 1].last_ns / 1e9 : 0;
}

/* Is the file still the one of that name? Its writer may have put a thinner one there. */
static bool is_named(int fd, const char *path)
{
	struct stat own, at;

	return fstat(fd, &own) ||
	       (!stat(path, &at) && own.st_dev == at.st_dev && own.st_ino == at.st_ino);
}

/* A file without a session is left to nobody, unless it is a device. */
static void remove_empty(const struct session_writer *w)
{
	struct stat st;

	if (!w->index_len && !fstat(w->fd, &st) && S_ISREG(st.st_mode) && is_named(w->fd, w->path))
		unlink(w->path);
}

static int give_up(struct session_writer *w, int why, struct err *err)
{
	const char *what = why == ENOSPC || why == EDQUOT ? "disk full" : "cannot be written";
	double s = saved_seconds(w);

	w->why = why;
	if (w->index_len)
		err_set(&w->failed, 125,
			"%s: %s: %s; the first %.1f s (%llu bytes) are saved and can be opened",
			w->path, what, strerror(why), s, (unsigned long long)w->written);
	else
		err_set(&w->failed, 125, "%s: %s: %s; nothing was saved, choose another place",
			w->path, what, strerror(why));
	if (ftruncate(w->fd, (off_t)w->written) == 0)
		lseek(w->fd, (off_t)w->written, SEEK_SET);
	remove_empty(w);
	if (err)
		*err = w->failed;
	return -1;
}

static int is_failed(const struct session_writer *w, struct err *err)
{
	if (!*w->failed.text)
		return 0;
	if (err)
		*err = w->failed;
	return -1;
}

/* The file has reached its limit: its contents stay good. */
static int be_full(struct session_writer *w, struct err *err)
{
	double s = saved_seconds(w);

	err_set(&w->failed, 125,
		"%s: full at %.1f MiB, the limit for a live view's session: it ends at %.1f s; for "
		"more use memtop record",
		w->path, (double)w->written / 1048576, s);
	return is_failed(w, err);
}

ZSTD_CCtx *session_zstd(void)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	if (!zstd)
		base_out_of_memory();
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	return zstd;
}

void session_raw_frame(struct session_raw *r, uint64_t type, const uint8_t *payload, size_t len)
{
	uint8_t head[20];
	struct mtw_out o = { head, head + sizeof head, false };

	mtw_put(&o, type);
	mtw_put(&o, len);
	size_t head_len = (size_t)(o.at - head);
	GROW(r->bytes, r->room, r->len + head_len + len);
	memcpy(r->bytes + r->len, head, head_len);
	if (len)
		memcpy(r->bytes + r->len + head_len, payload, len);
	r->len += head_len + len;
}

void session_raw_time(struct session_raw *r, uint64_t time_ns)
{
	uint8_t payload[10];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put(&o, time_ns);
	session_raw_frame(r, MTW_S_TIME, payload, (size_t)(o.at - payload));
}

static struct session_writer *writer_new(int fd, const char *path, uint64_t max_bytes)
{
	struct session_writer *w = xcalloc(1, sizeof *w);

	w->fd = fd;
	w->path = xstrdup(path);
	w->version = SESSION_ONE;
	w->max_bytes = max_bytes;
	w->thinning.least = session_thin_least();
	w->zstd = session_zstd();
	return w;
}

static void stream_free(struct stream *s)
{
	free(s->raw.bytes);
	free(s);
}

void session_abandon(struct session_writer *w)
{
	close(w->fd);
	ZSTD_freeCCtx(w->zstd);
	free(w->path);
	for (size_t i = 0; i < w->stream_count; i++)
		stream_free(w->streams[i]);
	free(w->streams);
	free(w->packed);
	free(w->index);
	free(w->keys);
	session_ticks_free(w->ticks, w->tick_count);
	session_ticks_free(w->thinning.last, w->thinning.last_count);
	free(w);
}

/* Empties a plain file, once it is locked: what another one writes stays whole. The lock is held
 * while fd is open: session_being_written(). Not every file system has it. 0 or -errno. */
static int take_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return -EWOULDBLOCK;
	return ftruncate(fd, 0) ? -errno : 0;
}

static int create_file(const char *path, struct err *err)
{
	int fd = -1, rc = 0;

	do {
		if (fd >= 0)
			close(fd);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		rc = fd < 0 ? -errno : take_file(fd);
	} while (!rc && !is_named(fd, path));
	if (!rc)
		return fd;
	if (fd >= 0)
		close(fd);
	if (rc == -EWOULDBLOCK)
		return err_set(err, 125, SESSION_BUSY, path);
	return err_set(err, 125, "%s: cannot be written: %s; choose another place", path,
		       strerror(-rc));
}

void session_is_live(struct session_writer *w)
{
	w->live = true;
}

struct session_writer *session_create(const char *path, uint64_t max_bytes, struct err *err)
{
	uint8_t head[SESSION_HEAD] = SESSION_MAGIC;
	int fd = create_file(path, err);

	if (fd < 0)
		return NULL;
	struct session_writer *w = writer_new(fd, path, max_bytes);
	head[8] = SESSION_ONE;
	int rc = write_all(fd, head, sizeof head);
	if (rc) {
		give_up(w, -rc, err);
		session_abandon(w);
		return NULL;
	}
	w->written = sizeof head;
	return w;
}

static struct stream *find_stream(const struct session_writer *w, uint32_t number)
{
	for (size_t i = 0; i < w->stream_count; i++)
		if (w->streams[i]->number == number)
			return w->streams[i];
	return NULL;
}

static struct stream *stream_of(struct session_writer *w, uint32_t number)
{
	struct stream *s = find_stream(w, number);

	if (s)
		return s;
	s = xcalloc(1, sizeof *s);
	s->number = number;
	s->ticks = session_ticks_of(w, number);
	GROW(w->streams, w->stream_room, w->stream_count + 1);
	return w->streams[w->stream_count++] = s;
}

int session_raise_version(struct session_writer *w)
{
	const uint8_t version[2] = { SESSION_TREE };
	ssize_t n;

	if (w->version == SESSION_TREE)
		return 0;
	while ((n = pwrite(w->fd, version, sizeof version, 8)) < 0 && errno == EINTR)
		;
	if (n != sizeof version)
		return n < 0 ? -errno : -EIO;
	w->version = SESSION_TREE;
	return 0;
}

void session_enter(struct session_writer *w, const struct session_entry *e)
{
	uint32_t stream = (uint32_t)e->stream;

	GROW(w->index, w->index_room, w->index_len + 1);
	w->index[w->index_len++] = *e;
	if (!session_is_key(stream)) {
		w->key_open = 0;
		return;
	}
	w->key_open = w->key_open ? w->key_open : e->offset;
	if (!(stream & SESSION_KEY_LAST))
		return;
	GROW(w->keys, w->key_room, w->key_count + 1);
	w->keys[w->key_count++] = (struct written_key){ stream & ~(SESSION_KEY | SESSION_KEY_LAST),
							{ w->key_open, e->first_ns, e->last_ns } };
	w->key_open = 0;
}

static int flush_stream(struct session_writer *w, struct stream *s, struct err *err)
{
	size_t head = s->number ? SESSION_BLOCK_OF_HEAD : SESSION_BLOCK_HEAD;

	if (is_failed(w, err))
		return -1;
	if (!s->raw.len)
		return 0;
	GROW(w->packed, w->packed_room, head + ZSTD_compressBound(s->raw.len));
	size_t n = ZSTD_compress2(w->zstd, w->packed + head, w->packed_room - head, s->raw.bytes,
				  s->raw.len);
	if (ZSTD_isError(n))
		return give_up(w, ENOMEM, err);
	if (w->max_bytes && w->written + head + n > w->max_bytes)
		return be_full(w, err);
	session_put_head(w->packed, s->number, n, s->raw.len, s->first_ns, s->last_ns);
	int rc = s->number ? session_raise_version(w) : 0;
	if (!rc)
		rc = write_all(w->fd, w->packed, head + n);
	if (rc)
		return give_up(w, -rc, err);
	session_enter(w, &(struct session_entry){ w->written, s->first_ns, s->last_ns, s->number });
	w->written += head + n;
	s->since_key += head + n;
	s->raw.len = 0;
	return 0;
}

/* A budget in bytes: reading starts from a key, so keys come as often as they pay. */
static uint64_t key_every(const struct stream *s, bool ends)
{
	const char *test = getenv("MEMTOP_TEST_KEY_BYTES");
	uint64_t least = test ? strtoull(test, NULL, 10) : KEY_LEAST;

	if (test)
		return ends ? 1 : least;
	uint64_t last = ends ? s->key_bytes : s->key_bytes * KEY_TIMES;

	least /= ends ? KEY_AT_END : 1;
	return last > least ? last : least;
}

bool session_key_due(const struct session_writer *w, uint32_t stream, bool ends)
{
	const struct stream *s = find_stream(w, stream);

	return s && !w->thinning.now && s->since_key && s->since_key >= key_every(s, ends) &&
	       !*w->failed.text;
}

uint64_t session_key_resume(struct session_writer *w, uint32_t stream)
{
	struct stream *s = find_stream(w, stream);

	if (!s || flush_stream(w, s, NULL))
		return 0;
	s->since_key = 0;
	w->keys_under_way++;
	/* until this one is put: one that cannot be made is not tried again soon */
	s->key_bytes = 2 * (s->key_bytes > KEY_LEAST ? s->key_bytes : KEY_LEAST);
	return w->written;
}

void session_key_over(struct session_writer *w)
{
	w->keys_under_way--;
}

/* Enters the blocks into the index. */
static void index_key(struct session_writer *w, const uint8_t *blocks, size_t len)
{
	for (size_t at = 0; at < len;) {
		const uint8_t *head = blocks + at;
		session_enter(w, &(struct session_entry){
					 w->written + at, session_get(head + 12, 8),
					 session_get(head + 20, 8), session_get(head + 28, 4) });
		at += SESSION_BLOCK_OF_HEAD + session_get(head + 4, 4);
	}
}

int session_put_key(struct session_writer *w, uint32_t stream, const uint8_t *blocks, size_t len,
		    struct err *err)
{
	struct stream *s = find_stream(w, stream);

	if (is_failed(w, err))
		return -1;
	if (w->max_bytes && w->written + len > w->max_bytes)
		return 0; /* the rest of the room is for what comes */
	int rc = session_raise_version(w);
	if (!rc)
		rc = write_all(w->fd, blocks, len);
	if (rc)
		return give_up(w, -rc, err);
	index_key(w, blocks, len);
	w->written += len;
	if (s)
		s->key_bytes = len;
	return 0;
}

/* Is the stream's state whole behind this frame? */
static bool is_whole(uint64_t type, const uint8_t *payload, size_t len)
{
	struct mtw_in in = { payload, payload + len, false };

	if (type != MTW_TICK)
		return type == MTW_S_TREE;
	mtw_get(&in);
	mtw_get(&in);
	return mtw_get(&in) & MTW_TICK_COMPLETE;
}

/* A whole state ends the block once a third of the stream's time so far went by since one did: of a
 * short run, too, a cut loses a quarter at most. Later blocks are closed by their age. */
static bool ends_block(struct stream *s, uint64_t time_ns)
{
	if (time_ns < s->next_ns)
		return false;
	if (!s->next_ns)
		s->whole_ns = time_ns;
	s->next_ns = time_ns + (time_ns - s->whole_ns) / 3;
	return true;
}

int session_frame(struct session_writer *w, uint32_t stream, uint64_t time_ns, uint64_t type,
		  const uint8_t *payload, size_t len, struct err *err)
{
	if (is_failed(w, err))
		return -1;
	if (len > MTW_FRAME_MAX)
		return err_set(err, 125, "%s: a frame of %zu bytes is too long for a session",
			       w->path, len);
	struct stream *s = stream_of(w, stream);
	if (!s->raw.len) {
		s->first_ns = time_ns;
		s->opened_at = now_ns();
	}
	/* Time never goes back within a stream: the index is searched by it. */
	if (!s->raw.len || time_ns > s->last_ns) {
		session_raw_time(&s->raw, time_ns);
		s->last_ns = time_ns;
	}
	session_raw_frame(&s->raw, type, payload, len);
	w->raw_bytes += len;
	session_note(&w->ticks[s->ticks], time_ns, type, payload, len);
	if (s->raw.len >= SESSION_BLOCK_FULL || (w->live && now_ns() - s->opened_at >= BLOCK_NS) ||
	    (is_whole(type, payload, len) && ends_block(s, time_ns)))
		return flush_stream(w, s, err);
	return 0;
}

int session_flush(struct session_writer *w, struct err *err)
{
	int rc = is_failed(w, err);

	for (size_t i = 0; i < w->stream_count && rc == 0; i++)
		rc = flush_stream(w, w->streams[i], err);
	return rc;
}

int session_end(struct session_writer *w, uint32_t stream, struct err *err)
{
	struct stream *s = find_stream(w, stream);
	int rc = s ? flush_stream(w, s, err) : 0;

	for (size_t i = 0; s && i < w->stream_count; i++)
		if (w->streams[i] == s)
			w->streams[i] = w->streams[--w->stream_count];
	if (s)
		stream_free(s);
	return rc;
}

/* Index and trailer behind the last block. 0 or -errno. */
static int write_index(const struct session_writer *w, int fd)
{
	bool tree = w->version == SESSION_TREE;
	size_t entry = tree ? SESSION_INDEX_OF_ENTRY : SESSION_INDEX_ENTRY;
	size_t bytes = w->index_len * entry, len = 8 + bytes + 4 + SESSION_TRAILER;
	uint8_t *p = xcalloc(1, len), *at = p + 8;

	memcpy(p, tree ? SESSION_INDEX_OF : SESSION_INDEX, 4);
	session_put(p + 4, bytes, 4);
	for (size_t i = 0; i < w->index_len; i++, at += entry) {
		session_put(at, w->index[i].offset, 8);
		session_put(at + 8, w->index[i].first_ns, 8);
		session_put(at + 16, w->index[i].last_ns, 8);
		if (tree)
			session_put(at + 24, w->index[i].stream, 8);
	}
	session_put(at, session_crc(p + 8, bytes), 4);
	session_put(at + 4, w->written, 8);
	memcpy(at + 12, SESSION_END, 8);
	int rc = write_all(fd, p, len);
	free(p);
	return rc;
}

int session_close(struct session_writer *w, struct err *err)
{
	int rc = session_flush(w, err);

	if (rc == 0 && (rc = write_index(w, w->fd)) != 0)
		rc = give_up(w, -rc, err);
	session_abandon(w);
	return rc;
}

int session_why(const struct session_writer *w)
{
	return w->why;
}

uint64_t session_written(const struct session_writer *w)
{
	return w->written;
}

int session_copy_bytes(int from, uint64_t start, int to, uint64_t bytes)
{
	uint8_t *buf = xmalloc(1 << 20);
	int rc = 0;

	for (uint64_t at = 0; at < bytes && rc == 0;) {
		size_t want = bytes - at < 1 << 20 ? (size_t)(bytes - at) : 1 << 20;
		ssize_t n = pread(from, buf, want, (off_t)(start + at));
		if (n <= 0) {
			rc = 1;
			break;
		}
		rc = write_all(to, buf, (size_t)n);
		at += (uint64_t)n;
	}
	free(buf);
	return rc;
}

int session_copy(struct session_writer *w, const char *path, struct err *err)
{
	char own[64];

	if (session_flush(w, NULL) && !w->index_len)
		return is_failed(w, err);
	/* By its name it may be a thinner one already, which another process has put there. */
	snprintf(own, sizeof own, "/proc/self/fd/%d", w->fd);
	int from = open(own, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return err_set(err, 125, "%s: can no longer be read: %s; save a report instead",
			       w->path, strerror(errno));
	int to = create_file(path, err);
	if (to < 0) {
		close(from);
		return -1;
	}
	int rc = session_copy_bytes(from, 0, to, w->written);
	if (rc == 0)
		rc = write_index(w, to);
	if (close(to) && rc == 0)
		rc = -errno;
	close(from);
	if (rc == 0)
		return 0;
	if (rc > 0)
		return err_set(err, 125, "%s: can no longer be read; save a report instead",
			       w->path);
	return err_set(err, 125, "%s: %s: %s; nothing was saved, choose another place", path,
		       rc == -ENOSPC ? "disk full" : "cannot be written", strerror(-rc));
}
