/* SPDX-License-Identifier: MIT
 *
 * format.h - the bytes of a session file (session/session.h has their order), for those who write
 * and read them. No state, and no code beside it.
 */
#ifndef SESSION_FORMAT_H
#define SESSION_FORMAT_H

#include <string.h>
#include <memtop/wire.h>

#define SESSION_MAGIC "MEMTOPS\n"
#define SESSION_END "MEMTOPE\n"
#define SESSION_BLOCK "BLK1"    /* of stream 0 */
#define SESSION_BLOCK_OF "BLK2" /* of the stream that its head names */
#define SESSION_INDEX "IDX1"
#define SESSION_INDEX_OF "IDX2"
#define SESSION_ONE 1         /* version of a file that has stream 0 alone */
#define SESSION_TREE 2        /* version of a file with other streams, too */
#define SESSION_HEAD 16       /* bytes: magic, version, reserved */
#define SESSION_BLOCK_HEAD 32 /* bytes before a block's zstd frame */
#define SESSION_BLOCK_OF_HEAD 36
#define SESSION_INDEX_ENTRY 24 /* bytes */
#define SESSION_INDEX_OF_ENTRY 32
#define SESSION_TRAILER 16 /* bytes */
/* streams of key frames: this bit and the number of their stream; */
#define SESSION_KEY (1u << 31)
#define SESSION_KEY_LAST (1u << 30) /* and this one in the last block of each */
#define SESSION_KEY_RAW_MAX (512u << 20)
#define SESSION_BLOCK_FULL (1u << 18) /* a block is closed at this size: 2 ms to compress it */
/* no block is larger than this; older ones were closed at a MiB */
#define SESSION_RAW_MAX ((1u << 20) + MTW_FRAME_MAX + 64)

struct session_entry { /* one block; of a key frame: resume offset and ticks for the times */
	uint64_t offset, first_ns, last_ns, stream;
};

static inline void session_put(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t session_get(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* CRC-32C (Castagnoli), bit by bit: the index is small. */
static inline uint32_t session_crc(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static inline uint32_t session_key_stream(uint32_t stream, bool last)
{
	return SESSION_KEY | (last ? SESSION_KEY_LAST : 0) | stream;
}

/* The two largest numbers are a table and a wish: they have no keys. */
static inline bool session_is_key(uint32_t stream)
{
	return (stream & SESSION_KEY) && stream < UINT32_MAX - 1;
}

/* The head of a block, 36 bytes, or 32 for stream 0. */
static inline void session_put_head(uint8_t *head, uint32_t stream, uint64_t packed, uint64_t raw,
				    uint64_t first, uint64_t last)
{
	memcpy(head, stream ? SESSION_BLOCK_OF : SESSION_BLOCK, 4);
	session_put(head + 4, packed, 4);
	session_put(head + 8, raw, 4);
	session_put(head + 12, first, 8);
	session_put(head + 20, last, 8);
	session_put(head + 28, stream, 4);
	if (stream)
		session_put(head + SESSION_BLOCK_HEAD, session_crc(head, SESSION_BLOCK_HEAD), 4);
}

/* session/write.c. */
struct ZSTD_CCtx_s;
struct ZSTD_CCtx_s *session_zstd(void); /* with this format's settings */

struct session_raw {    /* frames that one block will hold */
	uint8_t *bytes; /* owned */
	size_t len, room;
};
void session_raw_frame(struct session_raw *r, uint64_t type, const uint8_t *payload, size_t len);
void session_raw_time(struct session_raw *r, uint64_t time_ns);

#endif
