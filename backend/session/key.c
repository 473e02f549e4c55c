/* SPDX-License-Identifier: MIT
 *
 * key.c - the bytes of a key frame: gathered as frames, compressed as blocks, for the writer to
 * append. No file: a forked child may make one while its parent goes on writing.
 */
#include "session/key.h"

#include "session/format.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct session_key_out {
	uint32_t stream;
	uint64_t resume, ticks, raw_bytes;
	uint8_t *raw, *blocks; /* the open block; whole ones */
	size_t raw_len, raw_room, len, room;
	ZSTD_CCtx *zstd;
	bool failed;
};

static void close_block(struct session_key_out *k, bool last)
{
	size_t bound = ZSTD_compressBound(k->raw_len);

	GROW(k->blocks, k->room, k->len + SESSION_BLOCK_OF_HEAD + bound);
	uint8_t *head = k->blocks + k->len;
	size_t n = ZSTD_compress2(k->zstd, head + SESSION_BLOCK_OF_HEAD, bound, k->raw, k->raw_len);
	k->raw_bytes += k->raw_len;
	k->failed |= ZSTD_isError(n) || k->raw_bytes > SESSION_KEY_RAW_MAX;
	if (k->failed)
		return;
	session_put_head(head, session_key_stream(k->stream, last), n, k->raw_len, k->resume,
			 k->ticks);
	k->len += SESSION_BLOCK_OF_HEAD + n;
	k->raw_len = 0;
}

struct session_key_out *session_key_new(uint32_t stream, uint64_t resume, uint64_t time_ns,
					uint64_t ticks)
{
	struct session_key_out *k = xcalloc(1, sizeof *k);
	uint8_t payload[10];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	k->stream = stream;
	k->resume = resume;
	k->ticks = ticks;
	k->zstd = session_zstd();
	mtw_put(&o, time_ns);
	session_key_frame(k, MTW_S_TIME, payload, (size_t)(o.at - payload));
	return k;
}

int session_key_frame(void *key, uint64_t type, const uint8_t *payload, size_t len)
{
	struct session_key_out *k = key;
	uint8_t head[20];
	struct mtw_out o = { head, head + sizeof head, false };

	if (k->failed)
		return -1;
	if (k->raw_len >= SESSION_BLOCK_FULL)
		close_block(k, false);
	mtw_put(&o, type);
	mtw_put(&o, len);
	size_t head_len = (size_t)(o.at - head);
	GROW(k->raw, k->raw_room, k->raw_len + head_len + len);
	memcpy(k->raw + k->raw_len, head, head_len);
	if (len)
		memcpy(k->raw + k->raw_len + head_len, payload, len);
	k->raw_len += head_len + len;
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
	free(k->raw);
	free(k);
	return blocks;
}
