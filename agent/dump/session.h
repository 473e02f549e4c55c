/* SPDX-License-Identifier: MIT
 *
 * session.h - writes a session file (.mtop) without a viewer: one stream, blocks without
 * compression. The order of its bytes is backend/session/session.h's. Server thread.
 *
 * The file lies beside its name as "NAME.part" until it is whole.
 */
#ifndef MT_DUMP_SESSION_H
#define MT_DUMP_SESSION_H

#include "base/types.h"

#define SESSION_PATH 512
#define SESSION_BLOCKS 16384u /* 4 GiB in blocks of a viewer's buffer */

#pragma GCC visibility push(hidden)

struct session_block {
	uint64_t offset, ns;
};

struct session {
	int fd;
	long failed; /* -errno of the first call that failed */
	uint64_t size;
	uint32_t count;
	struct session_block *block; /* [SESSION_BLOCKS] */
	uint8_t *raw;                /* one block while it is made */
	size_t raw_room;
	char part[SESSION_PATH + 8];
};

/* raw_room: the largest block, with room for what this adds. 0 or -errno. */
long session_begin(struct session *f, const char *path, size_t raw_room);
/* Whole frames of one instant as a block. */
void session_block(struct session *f, uint64_t ns, const uint8_t *frames, size_t len);
long session_end(struct session *f); /* index and trailer; 0 or -errno of the first failure */
/* Of a whole file. `replace`: an older session may go. -EEXIST: the name is taken otherwise. 0 or
 * -errno. */
long session_name(struct session *f, const char *path, bool replace);
/* A file that got no name is removed. */
void session_release(struct session *f);

#pragma GCC visibility pop

#endif
