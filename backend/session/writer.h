/* SPDX-License-Identifier: MIT
 *
 * writer.h - the writer's state, for session/write.c (frames to blocks) and session/thin.c (another
 * file takes this one's place). Main thread only.
 */
#ifndef SESSION_WRITER_H
#define SESSION_WRITER_H

#include "session/session.h"
#include "session/format.h"

#include <sys/types.h>

struct stream {
	uint32_t number;
	struct session_raw raw;     /* its open block */
	uint64_t first_ns, last_ns; /* of the open block */
	uint64_t opened_at;         /* now_ns() of its first frame */
	/* of the first whole state; of the one that ends the open block */
	uint64_t whole_ns, next_ns;
	/* bytes in the file since its last key frame, and of that */
	uint64_t since_key, key_bytes;
};

struct thinning {
	pid_t pid;         /* of the child that writes the new file; 0 = none does */
	int kept;          /* its memfd: the ticks that it kept */
	char *path;        /* of the new file, owned */
	uint64_t bytes;    /* of the old file that it reads */
	uint64_t least;    /* the file is thinned at this size; 0 = not known yet */
	unsigned times;    /* so often it was */
	bool told;         /* that it could not be */
	uint64_t *ticks;   /* owned: { stream, n, n x tick } of the last time */
	size_t tick_count; /* numbers in it */
};

struct written_key { /* a whole key frame in the file */
	uint32_t stream;
	struct session_key key;
};

struct session_writer {
	int fd;
	char *path;         /* owned */
	uint64_t max_bytes; /* 0 = unbounded */
	uint64_t written;
	struct stream **streams; /* in no order; those with an open block, and some more */
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
	unsigned keys_under_way; /* session_key_resume() without session_key_over() */
	struct thinning thinning;
	struct err failed; /* text not empty: writing is over */
	int why;           /* errno of it; 0 = another reason */
};

int session_write_all(int fd, const uint8_t *p, size_t len); /* 0 or -errno */
/* A block is in the file now: enters it into the index, and the key frame that it ends. */
void session_enter(struct session_writer *w, const struct session_entry *e);

#endif
