/* SPDX-License-Identifier: MIT
 *
 * proof.h - how both ends of a TCP connection prove that they know the token (wire.h, section 2).
 *
 * HMAC-SHA256 (RFC 2104, FIPS 180-4), written plainly: a proof hashes five blocks, and a connection
 * needs two proofs. One header for agent and client, because neither may include the other and the
 * agent can link nothing but libc.
 */
#ifndef MEMTOP_PROOF_H
#define MEMTOP_PROOF_H

#include "wire.h"

#define MTW_HASH_LEN 32
#define MTW_HASH_BLOCK 64

/* Labels: as long as each other, so that no label and transcript can be read as another pair. */
#define MTW_LABEL_LEN 16
#define MTW_LABEL_CLIENT "MEMTOP client v2"
#define MTW_LABEL_AGENT "MEMTOP agent  v2"

/* What both sides have sent: all of it goes into the proofs, in this order. */
struct mtw_exchange {
	uint8_t agent_greeting[MTW_GREETING_LEN];
	uint8_t agent_nonce[MTW_NONCE_LEN];
	uint8_t client_greeting[MTW_GREETING_LEN];
	uint8_t client_nonce[MTW_NONCE_LEN];
};

struct mtw_sha256 {
	uint32_t h[8];
	uint64_t len;                  /* bytes taken */
	uint8_t block[MTW_HASH_BLOCK]; /* the first len % 64 are not hashed yet */
};

static inline uint32_t mtw_rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static inline void mtw_sha256_block(struct mtw_sha256 *s)
{
	static const uint32_t k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
		0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
		0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
		0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
		0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
		0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
		0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
		0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
		0xc67178f2,
	};
	uint32_t w[64], v[8];

	for (unsigned i = 0; i < 16; i++) {
		const uint8_t *b = s->block + 4 * i;
		w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	}
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (mtw_rotate(a, 7) ^ mtw_rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (mtw_rotate(b, 17) ^ mtw_rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, s->h, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4];
		uint32_t t1 = v[7] + (mtw_rotate(e, 6) ^ mtw_rotate(e, 11) ^ mtw_rotate(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		uint32_t t2 = (mtw_rotate(a, 2) ^ mtw_rotate(a, 13) ^ mtw_rotate(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[0] = t1 + t2;
		v[4] += t1;
	}
	for (unsigned i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static inline void mtw_sha256_begin(struct mtw_sha256 *s)
{
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->h, first, sizeof(first));
	s->len = 0;
}

static inline void mtw_sha256_take(struct mtw_sha256 *s, const void *p, size_t len)
{
	for (const uint8_t *at = p; len; len--) {
		s->block[s->len++ % MTW_HASH_BLOCK] = *at++;
		if (s->len % MTW_HASH_BLOCK == 0)
			mtw_sha256_block(s);
	}
}

static inline void mtw_sha256_end(struct mtw_sha256 *s, uint8_t out[MTW_HASH_LEN])
{
	static const uint8_t pad[MTW_HASH_BLOCK] = { 0x80 };
	uint8_t bits[8];

	for (unsigned i = 0; i < 8; i++)
		bits[i] = (uint8_t)(s->len * 8 >> (56 - 8 * i));
	mtw_sha256_take(s, pad, 1 + (119 - s->len % MTW_HASH_BLOCK) % MTW_HASH_BLOCK);
	mtw_sha256_take(s, bits, sizeof(bits));
	for (unsigned i = 0; i < MTW_HASH_LEN; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* One half of an HMAC: the hash of the key, xored with `with`, followed by the text. */
static inline void mtw_hmac_half(struct mtw_sha256 *s, const uint8_t key[MTW_HASH_BLOCK],
				 uint8_t with)
{
	uint8_t mixed[MTW_HASH_BLOCK];

	for (unsigned i = 0; i < MTW_HASH_BLOCK; i++)
		mixed[i] = key[i] ^ with;
	mtw_sha256_begin(s);
	mtw_sha256_take(s, mixed, sizeof(mixed));
}

/* Of `label` (NULL: none), then `text`. */
static inline void mtw_hmac(const void *key, size_t key_len, const char *label, const void *text,
			    size_t len, uint8_t out[MTW_HASH_LEN])
{
	struct mtw_sha256 s;
	uint8_t block[MTW_HASH_BLOCK] = { 0 }, inner[MTW_HASH_LEN];

	if (key_len > MTW_HASH_BLOCK) {
		mtw_sha256_begin(&s);
		mtw_sha256_take(&s, key, key_len);
		mtw_sha256_end(&s, block);
	} else {
		memcpy(block, key, key_len);
	}
	mtw_hmac_half(&s, block, 0x36);
	if (label)
		mtw_sha256_take(&s, label, MTW_LABEL_LEN);
	mtw_sha256_take(&s, text, len);
	mtw_sha256_end(&s, inner);
	mtw_hmac_half(&s, block, 0x5c);
	mtw_sha256_take(&s, inner, sizeof(inner));
	mtw_sha256_end(&s, out);
}

/* The proof of one side: `label` says which. The struct is bytes alone, so it has no gaps. */
static inline void mtw_proof(const char *token, const char *label, const struct mtw_exchange *x,
			     uint8_t out[MTW_PROOF_LEN])
{
	mtw_hmac(token, strlen(token), label, x, sizeof(*x), out);
}

/* Takes the same time wherever the difference lies. */
static inline bool mtw_same(const uint8_t *a, const uint8_t *b, size_t len)
{
	volatile uint8_t differ = 0;

	for (size_t i = 0; i < len; i++)
		differ |= (uint8_t)(a[i] ^ b[i]);
	return !differ;
}

#endif
