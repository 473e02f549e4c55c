/* SPDX-License-Identifier: MIT
 *
 * key.c - the bytes of a key frame: gathered as frames, compressed as blocks, for the writer to
 * append. No file: a forked child may make one while its parent goes on writing.
 */
#include "session/key.h"

#include "session/format.h"

#include <stdlib.h>
#include <zstd.h>

struct session_key_out {
	uint32_t stream;
	uint64_t resume, ticks, raw_bytes;
	struct session_raw raw; /* the open block */
	uint8_t *blocks;        /* whole ones */
	size_t len, room;
	ZSTD_CCtx *zstd;
	bool failed;
};

static void close_block(struct session_key_out *k, bool last)
{
	size_t bound = ZSTD_compressBound(k->raw.len);

	GROW(k->blocks, k->room, k->len + SESSION_BLOCK_OF_HEAD + bound);
	uint8_t *head = k->blocks + k->len;
	size_t n = ZSTD_compress2(k->zstd, head + SESSION_BLOCK_OF_HEAD, bound, k->raw.bytes,
				  k->raw.len);
	k->raw_bytes += k->raw.len;
	k->failed |= ZSTD_isError(n) || k->raw_bytes > SESSION_KEY_RAW_MAX;
	if (k->failed)
		return;
	session_put_head(head, session_key_stream(k->stream, last), n, k->raw.len, k->resume,
			 k->ticks);
	k->len += SESSION_BLOCK_OF_HEAD + n;
	k->raw.len = 0;
}

struct session_key_out *session_key_new(uint32_t stream, uint64_t resume, uint64_t time_ns,
					uint64_t ticks)
{
	struct session_key_out *k = xcalloc(1, sizeof *k);

	k->stream = stream;
	k->resume = resume;
	k->ticks = ticks;
	k->zstd = session_zstd();
	session_raw_time(&k->raw, time_ns);
	return k;
}

int session_key_frame(void *key, uint64_t type, const uint8_t *payload, size_t len)
{
	struct session_key_out *k = key;
	if (k->failed)
		return -1;
	if (k->raw.len >= SESSION_BLOCK_FULL)
		close_block(k, false);
	session_raw_frame(&k->raw, type, payload, len);
	return 0;
}

uint8_t *session_key_end(struct session_key_out *k, size_t *len)
{
	if (!k->failed)
		close_block(k, true);
	uint8_t *blocks = k->blocks;
	if (k->failed) {
		free(blocks);
		blocks = NULL;
	}
	*len = blocks ? k->len : 0;
	ZSTD_freeCCtx(k->zstd);
	free(k->raw.bytes);
	free(k);
	return blocks;
}
