/* SPDX-License-Identifier: MIT
 *
 * zstd_raw.c - see dump/zstd_raw.h. XXH64 as in Yann Collet's "xxHash fast digest algorithm",
 * version 0.2.0.
 */
#include "dump/zstd_raw.h"

#define BLOCK_MAX (128u << 10)
#define BLOCK_HEAD 3u
#define FRAME_HEAD 9u
#define CHECKSUM 4u
/* descriptor: the content's size in four bytes, a single segment, with a checksum */
#define DESCRIPTOR 0xa4u
#define MAGIC 0xfd2fb528u

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull
#define P5 0x27d4eb2f165667c5ull

static uint64_t turn(uint64_t v, unsigned bits)
{
	return v << bits | v >> (64 - bits);
}

static uint64_t get(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static void put_number(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t round_of(uint64_t acc, uint64_t lane)
{
	return turn(acc + lane * P2, 31) * P1;
}

static uint64_t merge(uint64_t acc, uint64_t lane)
{
	return (acc ^ round_of(0, lane)) * P1 + P4;
}

static uint64_t stripes(const uint8_t **at, const uint8_t *end)
{
	uint64_t v[4] = { P1 + P2, P2, 0, 0 - P1 };

	for (; end - *at >= 32; *at += 32)
		for (int i = 0; i < 4; i++)
			v[i] = round_of(v[i], get(*at + 8 * i, 8));
	uint64_t h = turn(v[0], 1) + turn(v[1], 7) + turn(v[2], 12) + turn(v[3], 18);
	for (int i = 0; i < 4; i++)
		h = merge(h, v[i]);
	return h;
}

uint64_t zstd_raw_xxh64(const uint8_t *p, size_t len)
{
	const uint8_t *at = p, *end = p + len;
	uint64_t h = (len >= 32 ? stripes(&at, end) : P5) + len;

	for (; end - at >= 8; at += 8)
		h = turn(h ^ round_of(0, get(at, 8)), 27) * P1 + P4;
	for (; end - at >= 4; at += 4)
		h = turn(h ^ get(at, 4) * P1, 23) * P2 + P3;
	for (; at < end; at++)
		h = turn(h ^ *at * P5, 11) * P1;
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}

size_t zstd_raw_size(size_t len)
{
	return FRAME_HEAD + (len + BLOCK_MAX - 1) / BLOCK_MAX * BLOCK_HEAD + len + CHECKSUM;
}

bool zstd_raw_write(const uint8_t *content, size_t len,
		    bool (*put)(void *arg, const void *bytes, size_t len), void *arg)
{
	uint8_t head[FRAME_HEAD], sum[CHECKSUM];

	put_number(head, MAGIC, 4);
	head[4] = DESCRIPTOR;
	put_number(head + 5, len, 4);
	if (!put(arg, head, sizeof(head)))
		return false;
	for (size_t at = 0; at < len;) {
		size_t n = len - at < BLOCK_MAX ? len - at : BLOCK_MAX;
		bool last = at + n == len;
		put_number(head, n << 3 | last, BLOCK_HEAD);
		if (!put(arg, head, BLOCK_HEAD) || !put(arg, content + at, n))
			return false;
		at += n;
	}
	put_number(sum, zstd_raw_xxh64(content, len), CHECKSUM);
	return put(arg, sum, sizeof(sum));
}
