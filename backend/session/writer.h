/* SPDX-License-Identifier: MIT
 *
 * writer.h - the writer's state, for session/write.c (frames to blocks) and session/thin.c (another
 * file takes this one's place). Main thread only.
 */
#ifndef SESSION_WRITER_H
#define SESSION_WRITER_H

#include "session/session.h"
#include "session/format.h"

struct stream {
	uint32_t number;
	struct session_raw raw;     /* its open block */
	uint64_t first_ns, last_ns; /* of the open block */
	uint64_t opened_at;         /* now_ns() of its first frame */
	/* of the first whole state; of the one that ends the open block */
	uint64_t whole_ns, next_ns;
	/* bytes in the file since its last key frame, and of that */
	uint64_t since_key, key_bytes;
	size_t ticks; /* of the writer's */
};

struct thinner;

struct thinning {
	struct thinner *now;        /* the one under way, owned; NULL = none */
	uint64_t least;             /* bytes of the file; a smaller one is not thinned */
	unsigned times;             /* so often it was */
	bool told;                  /* that it could not be */
	struct session_ticks *last; /* of the last time, owned */
	size_t last_count;
};

struct written_key { /* a whole key frame in the file */
	uint32_t stream;
	struct session_key key;
};

struct session_writer {
	int fd;
	char *path;                  /* owned */
	uint64_t max_bytes;          /* 0 = unbounded */
	bool live;                   /* session_is_live() */
	uint64_t written, raw_bytes; /* raw: of all frames, before compression */
	struct stream **streams;     /* in no order; those with an open block, and some more */
	size_t stream_count, stream_room;
	unsigned version; /* in the file's head */
	uint8_t *packed;
	size_t packed_room;
	struct ZSTD_CCtx_s *zstd;
	struct session_entry *index;
	size_t index_len, index_room;
	struct written_key *keys; /* in the file's order, so that none has to be looked for */
	size_t key_count, key_room;
	uint64_t key_open; /* offset of the first block of one that has no end yet; 0 = none */
	unsigned keys_under_way;     /* session_key_resume() without session_key_over() */
	struct session_ticks *ticks; /* of each stream that there was, owned */
	size_t tick_count, tick_room;
	struct thinning thinning;
	struct err failed; /* text not empty: writing is over */
	int why;           /* errno of it; 0 = another reason */
};

/* A block is in the file now: enters it into the index, and the key frame that it ends. */
void session_enter(struct session_writer *w, const struct session_entry *e);
/* An older memtop must not take the file for a session of one process. 0 or -errno. */
int session_raise_version(struct session_writer *w);
/* From an offset of one file to where the other one is. 0, -errno of writing, or 1 when reading
 * failed. */
int session_copy_bytes(int from, uint64_t at, int to, uint64_t bytes);
void session_abandon(struct session_writer *w); /* frees it; the file ends where it is */

/* session/ticks.c. */
uint64_t session_thin_least(void); /* bytes of the smallest file that is thinned */
struct session_ticks *session_ticks_add(struct session_ticks **list, size_t *count, size_t *room,
					uint32_t stream);
/* Place of the stream's ticks in w->ticks; added if there was none. */
size_t session_ticks_of(struct session_writer *w, uint32_t stream);
void session_note(struct session_ticks *t, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		  size_t len);
/* Raw bytes of ticks that are too dense for their age. */
uint64_t session_loose(const struct session_ticks *t);
void session_not_loose(struct session_ticks *t); /* it is thinned now */
void session_ticks_free(struct session_ticks *list, size_t n);

#endif
