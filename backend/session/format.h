/* SPDX-License-Identifier: MIT
 *
 * format.h - the bytes of a session file (session/session.h has their order), for those who write
 * and read them. No state, and no code beside it.
 */
#ifndef SESSION_FORMAT_H
#define SESSION_FORMAT_H

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
#define SESSION_TRAILER 16            /* bytes */
#define SESSION_BLOCK_FULL (1u << 20) /* a block is closed at this size */
/* no block is larger than this */
#define SESSION_RAW_MAX (SESSION_BLOCK_FULL + MTW_FRAME_MAX + 64)

struct session_entry { /* one block */
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

#endif
