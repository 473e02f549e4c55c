/* SPDX-License-Identifier: MIT
 *
 * read.c - the session file's reader. Any thread, one at a time.
 *
 * A block is valid only when it is complete and correct: its length, zstd's checksum, and frames
 * that fill it exactly. An incomplete block at the end of the file is a cut (the writer was killed,
 * or is writing). An error before the end is damage, and the message names its byte. The file is
 * untrusted: sizes are checked before memory is allocated for them.
 */
#include "session/session.h"
#include "base/build.h"
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

#define KEYS_TRIED 3 /* a broken file may name any number of them */

struct session_reader {
	/* the one that is read, or SESSION_ALL; blocks of others are passed over */
	uint32_t stream;
	uint32_t now; /* stream of the open block */
	int fd;
	char *path;        /* owned */
	uint64_t size, at; /* bytes in the file; of the next block */
	uint64_t block_at; /* of the open block */
	bool cut, ended, being_written;
	uint8_t *packed, *raw;
	size_t packed_room, raw_room;
	size_t raw_len, raw_at; /* the open block; [raw_at, raw_len) is not read yet */
	uint64_t time_ns;
	ZSTD_DCtx *zstd;
	bool indexed;
	uint64_t index_at;
	struct session_key *keys; /* session_keys() */
	size_t key_count, key_room;
	bool keys_known;
	/* of the heads that were looked at for keys: the next one; of a key under way, 0 = none */
	uint64_t heads_at, key_open;
	struct {
		struct session_key key;
		uint64_t at, sum; /* its next block; raw bytes of those before */
	} start;                  /* the key frame that is unpacked */
	struct err damage;        /* text not empty: nothing follows */
};

/* Exactly len bytes, or false. */
static bool read_at(const struct session_reader *r, uint64_t at, uint8_t *p, size_t len)
{
	if (at > r->size || r->size - at < len)
		return false;
	while (len) {
		ssize_t n = pread(r->fd, p, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

/* The index behind the last block, when file, trailer and checksum agree. */
static void check_index(struct session_reader *r)
{
	uint8_t trailer[SESSION_TRAILER], head[8];

	if (r->size < SESSION_HEAD + SESSION_TRAILER ||
	    !read_at(r, r->size - SESSION_TRAILER, trailer, sizeof trailer) ||
	    memcmp(trailer + 8, SESSION_END, 8))
		return;
	uint64_t at = session_get(trailer, 8), room = r->size - SESSION_TRAILER;
	if (at < SESSION_HEAD || at > room || room - at < 12 || !read_at(r, at, head, 8))
		return;
	bool tree = !memcmp(head, SESSION_INDEX_OF, 4);
	uint64_t bytes = session_get(head + 4, 4),
		 entry = tree ? SESSION_INDEX_OF_ENTRY : SESSION_INDEX_ENTRY;
	if ((!tree && memcmp(head, SESSION_INDEX, 4)) || bytes % entry || bytes != room - at - 12)
		return;
	uint8_t *p = xmalloc(bytes + 4);
	r->cut = !read_at(r, at + 8, p, bytes + 4) ||
		 session_crc(p, bytes) != session_get(p + bytes, 4);
	r->indexed = !r->cut;
	r->index_at = at;
	free(p);
}

bool session_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t head[8];
	struct stat st;
	/* Bytes read from a pipe or a device are lost. */
	bool is = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		  read(fd, head, sizeof head) == (ssize_t)sizeof head &&
		  !memcmp(head, SESSION_MAGIC, sizeof head);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Does a running writer hold the lock? The lock ends with the writer. */
static bool is_locked(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

bool session_busy(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool busy = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && is_locked(fd);

	if (fd >= 0)
		close(fd);
	return busy;
}

/* Another kind of lock than the writers' flock(): they do not meet. */
int session_view(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fd >= 0)
		fcntl(fd, F_OFD_SETLK, &all);
	return fd;
}

bool session_viewed(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool viewed = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &all) && all.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return viewed;
}

struct session_reader *session_open(const char *path, uint32_t stream, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t head[SESSION_HEAD];
	struct stat st;

	if (fd < 0) {
		err_set(err, 3, "%s: cannot be read: %s; check the path", path, strerror(errno));
		return NULL;
	}
	struct session_reader *r = xcalloc(1, sizeof *r);
	r->fd = fd;
	r->stream = stream;
	r->path = xstrdup(path);
	r->at = r->heads_at = SESSION_HEAD;
	r->cut = true;
	/* asked before the size is: a writer that ends now leaves a whole file */
	r->being_written = is_locked(fd);
	const char *why = NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		why = "it is not a plain file";
	else if (st.st_size == 0)
		why = "it is empty";
	r->size = why ? 0 : (uint64_t)st.st_size;
	if (!why && r->size < SESSION_HEAD)
		why = "it was cut before its first block";
	else if (!why && (!read_at(r, 0, head, sizeof head) || memcmp(head, SESSION_MAGIC, 8)))
		why = "it does not begin like a session file";
	if (why) {
		err_set(err, 3, "%s: not a session file: %s; memtop record writes one", path, why);
	} else if (session_get(head + 8, 2) < SESSION_ONE ||
		   session_get(head + 8, 2) > SESSION_TREE) {
		err_set(err, 3,
			"%s: written by a newer memtop: format %u; memtop %s reads up to %d; open "
			"it "
			"with the memtop that wrote it",
			path, (unsigned)session_get(head + 8, 2), build_version, SESSION_TREE);
		why = "version";
	}
	r->zstd = why ? NULL : ZSTD_createDCtx();
	if (!r->zstd) {
		session_reader_free(r);
		return NULL;
	}
	check_index(r);
	return r;
}

static int damaged(struct session_reader *r, const char *what, struct err *err)
{
	err_set(&r->damage, 3, "%s: damaged at byte %llu: %s; %s", r->path,
		(unsigned long long)r->at, what,
		r->at > SESSION_HEAD ? "the part before that is good"
				     : "nothing can be read, record it again");
	if (err)
		*err = r->damage;
	return -1;
}

/* Are the bytes whole frames to the end? No frame of any other block is returned. */
static bool frames_fill(const uint8_t *p, size_t len)
{
	uint64_t type, payload;

	while (len) {
		int head = mtw_frame(p, len, MTW_FRAME_MAX, &type, &payload);
		if (head <= 0 || payload > len - (size_t)head)
			return false;
		p += (size_t)head + payload;
		len -= (size_t)head + payload;
	}
	return true;
}

static int end_of_file(struct session_reader *r)
{
	r->ended = true;
	return 0;
}

/* Classifies bytes that are no block: the index, or damage. */
static int no_block(struct session_reader *r, const uint8_t *head, size_t n, struct err *err)
{
	size_t word = n < 4 ? n : 4;

	if (memcmp(head, SESSION_INDEX, word) && memcmp(head, SESSION_INDEX_OF, word))
		return damaged(r, "neither a block nor the index", err);
	if (!r->indexed && n >= 8 &&
	    r->size - r->at >= 12 + SESSION_TRAILER + session_get(head + 4, 4))
		return damaged(r, "the index is wrong", err);
	return end_of_file(r);
}

static int cut_here(struct session_reader *r)
{
	r->cut = true;
	return end_of_file(r);
}

/* Reads a block behind what r->raw has. NULL, or what is wrong with it. */
static const char *unpack(struct session_reader *r, uint64_t at, uint64_t packed, uint64_t raw)
{
	GROW(r->packed, r->packed_room, packed);
	GROW(r->raw, r->raw_room, r->raw_len + raw);
	uint8_t *to = r->raw + r->raw_len;
	if (!read_at(r, at, r->packed, packed))
		return "cannot be read";
	if (ZSTD_decompressDCtx(r->zstd, to, raw, r->packed, packed) != raw)
		return "a block's checksum is wrong";
	if (!frames_fill(to, raw))
		return "a block holds no frames";
	r->raw_len += raw;
	return NULL;
}

static int open_block(struct session_reader *r, const uint8_t *head, uint64_t head_len,
		      uint64_t packed, uint64_t raw, struct err *err)
{
	r->raw_len = r->raw_at = 0;
	const char *wrong = unpack(r, r->at + head_len, packed, raw);

	if (wrong)
		return damaged(r, wrong, err);
	r->time_ns = session_get(head + 12, 8);
	return 1;
}

/* 1 a block was skipped or opened, 0 the end (r->cut tells which), -1 damage. */
static int next_block(struct session_reader *r, struct err *err)
{
	uint8_t head[SESSION_BLOCK_OF_HEAD];
	uint64_t left = r->size - r->at;
	size_t n = left < sizeof head ? (size_t)left : sizeof head;

	if (!read_at(r, r->at, head, n))
		return damaged(r, "cannot be read", err);
	bool one = !memcmp(head, SESSION_BLOCK, n < 4 ? n : 4),
	     other = n >= 4 && !memcmp(head, SESSION_BLOCK_OF, 4);
	if (!one && !other)
		return no_block(r, head, n, err);
	size_t head_len = other ? SESSION_BLOCK_OF_HEAD : SESSION_BLOCK_HEAD;
	if (n < head_len)
		return cut_here(r);
	if (other &&
	    session_crc(head, SESSION_BLOCK_HEAD) != session_get(head + SESSION_BLOCK_HEAD, 4))
		return damaged(r, "a block's head is wrong", err);
	uint64_t packed = session_get(head + 4, 4), raw = session_get(head + 8, 4);
	if (raw > SESSION_RAW_MAX || packed > ZSTD_COMPRESSBOUND(SESSION_RAW_MAX))
		return damaged(r, "a block of impossible size", err);
	if (packed > left - head_len)
		return cut_here(r);
	uint32_t stream = other ? (uint32_t)session_get(head + 28, 4) : 0;
	bool all = r->stream == SESSION_ALL && !session_is_key(stream);
	if ((r->stream == stream || all) && open_block(r, head, head_len, packed, raw, err) < 0)
		return -1;
	r->now = stream;
	r->block_at = r->at;
	r->at += head_len + packed;
	return 1;
}

int session_next(struct session_reader *r, uint64_t *time_ns, uint64_t *type,
		 const uint8_t **payload, size_t *len, struct err *err)
{
	uint64_t n;

	if (*r->damage.text) {
		if (err)
			*err = r->damage;
		return -1;
	}
	for (;;) {
		while (r->raw_at == r->raw_len) {
			int rc = r->ended ? 0 : next_block(r, err);
			if (rc <= 0)
				return rc;
		}
		r->raw_at += (size_t)mtw_frame(r->raw + r->raw_at, r->raw_len - r->raw_at,
					       MTW_FRAME_MAX, type, &n);
		*payload = r->raw + r->raw_at;
		*len = (size_t)n;
		r->raw_at += (size_t)n;
		if (*type != MTW_S_TIME)
			break;
		struct mtw_in in = { *payload, *payload + n, false };
		r->time_ns = mtw_get(&in);
	}
	*time_ns = r->time_ns;
	return 1;
}

static void add_key(struct session_reader *r, const struct session_key *key)
{
	GROW(r->keys, r->key_room, r->key_count + 1);
	r->keys[r->key_count++] = *key;
}

/* Takes the head of a block: the last one of a key frame completes it. */
static void take_head(struct session_reader *r, const struct session_entry *e)
{
	uint32_t stream = (uint32_t)e->stream;

	if (!session_is_key(stream) ||
	    session_key_stream(r->stream, true) != (stream | SESSION_KEY_LAST))
		return;
	r->key_open = r->key_open ? r->key_open : e->offset;
	if (!(stream & SESSION_KEY_LAST))
		return;
	/* else an index that names one block again and again */
	if (!r->key_count || r->key_open > r->keys[r->key_count - 1].offset)
		add_key(r, &(struct session_key){ r->key_open, e->first_ns, e->last_ns });
	r->key_open = 0;
}

static void keys_of_index(struct session_reader *r)
{
	uint64_t bytes = r->size - SESSION_TRAILER - r->index_at - 12;
	uint8_t *p = xmalloc(bytes + 8);

	if (read_at(r, r->index_at, p, bytes + 8) && !memcmp(p, SESSION_INDEX_OF, 4))
		for (const uint8_t *e = p + 8; e < p + 8 + bytes; e += SESSION_INDEX_OF_ENTRY)
			take_head(r, &(struct session_entry){
					     session_get(e, 8), session_get(e + 8, 8),
					     session_get(e + 16, 8), session_get(e + 24, 8) });
	free(p);
}

/* The head of the block at an offset: its length, 0 = there is no whole block. */
static size_t head_at(const struct session_reader *r, uint64_t at, uint8_t *head)
{
	if (!read_at(r, at, head, SESSION_BLOCK_HEAD))
		return 0;
	if (!memcmp(head, SESSION_BLOCK, 4))
		return SESSION_BLOCK_HEAD;
	if (memcmp(head, SESSION_BLOCK_OF, 4) || !read_at(r, at, head, SESSION_BLOCK_OF_HEAD) ||
	    session_crc(head, SESSION_BLOCK_HEAD) != session_get(head + SESSION_BLOCK_HEAD, 4))
		return 0;
	return SESSION_BLOCK_OF_HEAD;
}

uint64_t session_length(const struct session_reader *r)
{
	uint8_t head[SESSION_BLOCK_OF_HEAD];
	uint64_t longest = 0;
	size_t len;

	for (uint64_t at = SESSION_HEAD; (len = head_at(r, at, head)) != 0;
	     at += len + session_get(head + 4, 4)) {
		uint64_t last = session_get(head + 20, 8);
		bool key = len == SESSION_BLOCK_OF_HEAD &&
			   session_is_key((uint32_t)session_get(head + 28, 4));
		longest = !key && last > longest ? last : longest;
	}
	return longest;
}

/* True: that was the last one. */
static bool look_at_head(struct session_reader *r)
{
	uint8_t head[SESSION_BLOCK_OF_HEAD];
	size_t len = head_at(r, r->heads_at, head);

	if (!len)
		return true;
	uint64_t next = r->heads_at + len + session_get(head + 4, 4);
	if (next > r->size)
		return true;
	if (len == SESSION_BLOCK_OF_HEAD)
		take_head(r, &(struct session_entry){ r->heads_at, session_get(head + 12, 8),
						      session_get(head + 20, 8),
						      session_get(head + 28, 4) });
	r->heads_at = next;
	return false;
}

static bool is_stopped(const atomic_bool *stop)
{
	return stop && *stop;
}

static void find_keys(struct session_reader *r, const atomic_bool *stop)
{
	if (!r->keys_known && r->indexed) {
		keys_of_index(r);
		r->keys_known = true;
	}
	while (!r->keys_known && !is_stopped(stop))
		r->keys_known = look_at_head(r);
}

void session_learn_keys(struct session_reader *r, const struct session_writer *w)
{
	r->key_count = 0;
	for (size_t i = 0; i < w->key_count; i++)
		if (w->keys[i].stream == r->stream)
			add_key(r, &w->keys[i].key);
	r->keys_known = true;
}

size_t session_keys(struct session_reader *r, const struct session_key **list)
{
	find_keys(r, NULL);
	*list = r->keys;
	return r->key_count;
}

void session_rewind(struct session_reader *r)
{
	r->raw_len = r->raw_at = 0;
	r->at = SESSION_HEAD;
	r->time_ns = 0;
	r->ended = false;
	r->damage.text[0] = '\0';
}

/* The next block of the key frame: 1 it was the last one, 0 more follow, -1 it is damaged. */
static int unpack_next(struct session_reader *r)
{
	uint8_t head[SESSION_BLOCK_OF_HEAD];

	if (head_at(r, r->start.at, head) != SESSION_BLOCK_OF_HEAD)
		return -1;
	uint64_t packed = session_get(head + 4, 4), raw = session_get(head + 8, 4);
	uint32_t stream = (uint32_t)session_get(head + 28, 4);
	r->start.sum += raw;
	if ((stream | SESSION_KEY_LAST) != session_key_stream(r->stream, true) ||
	    session_get(head + 12, 8) != r->start.key.resume || raw > SESSION_RAW_MAX ||
	    packed > ZSTD_COMPRESSBOUND(SESSION_RAW_MAX) || r->start.sum > SESSION_KEY_RAW_MAX ||
	    unpack(r, r->start.at + SESSION_BLOCK_OF_HEAD, packed, raw))
		return -1;
	r->start.at += SESSION_BLOCK_OF_HEAD + packed;
	return (stream & SESSION_KEY_LAST) != 0;
}

/* All blocks of a key frame are unpacked first, so that nothing of a damaged one is ever used. */
static bool start_at(struct session_reader *r, const struct session_key *key,
		     const atomic_bool *stop)
{
	int rc = key->resume < SESSION_HEAD || key->resume > r->size ? -1 : 0;

	session_rewind(r);
	r->start.key = *key;
	r->start.at = key->offset;
	r->start.sum = 0;
	while (!rc)
		rc = is_stopped(stop) ? -1 : unpack_next(r);
	if (rc < 0) {
		session_rewind(r);
		return false;
	}
	r->at = key->resume;
	r->now = r->stream;
	return true;
}

bool session_start_at(struct session_reader *r, const struct session_key *key)
{
	return start_at(r, key, NULL);
}

bool session_start_near(struct session_reader *r, uint64_t ticks, const atomic_bool *stop)
{
	find_keys(r, stop);
	size_t n = r->key_count;
	while (n && r->keys[n - 1].ticks > ticks)
		n--;
	for (size_t end = n > KEYS_TRIED ? n - KEYS_TRIED : 0; n > end; n--)
		if (start_at(r, &r->keys[n - 1], stop))
			return true;
	session_rewind(r);
	return false;
}

uint32_t session_stream(const struct session_reader *r)
{
	return r->now;
}

uint64_t session_block(const struct session_reader *r)
{
	return r->block_at;
}

void session_limit(struct session_reader *r, uint64_t bytes)
{
	if (r->size > bytes)
		r->size = bytes;
}

bool session_cut(const struct session_reader *r)
{
	return r->cut;
}

bool session_being_written(const struct session_reader *r)
{
	return r->being_written;
}

bool session_replaced(const struct session_reader *r, const char *path)
{
	struct stat at, own;

	return !fstat(r->fd, &own) && !stat(path, &at) &&
	       (at.st_dev != own.st_dev || at.st_ino != own.st_ino);
}

bool session_more(struct session_reader *r)
{
	struct stat st;

	if (!r->ended || fstat(r->fd, &st) || (uint64_t)st.st_size <= r->size)
		return false;
	r->size = (uint64_t)st.st_size;
	r->ended = false;
	return true;
}

void session_reader_free(struct session_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	ZSTD_freeDCtx(r->zstd);
	free(r->path);
	free(r->keys);
	free(r->packed);
	free(r->raw);
	free(r);
}
