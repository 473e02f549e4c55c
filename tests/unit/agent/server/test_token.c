/* SPDX-License-Identifier: MIT
 *
 * test_token.c - the hash and the HMAC of include/memtop/proof.h: the examples of FIPS 180-4 and
 * RFC 4231. tests/wire/golden.py holds the proofs themselves against another implementation.
 */
#include "check.h"

#include <memtop/proof.h>

static char hex[2 * MTW_HASH_LEN + 1];

static const char *in_hex(const uint8_t *bytes)
{
	for (size_t i = 0; i < MTW_HASH_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return hex;
}

/* Of `text`, `times` over, taken in pieces of `piece` bytes. */
static const char *hash(const char *text, size_t times, size_t piece)
{
	struct mtw_sha256 s;
	uint8_t out[MTW_HASH_LEN];
	size_t len = strlen(text);

	mtw_sha256_begin(&s);
	while (times--)
		for (size_t at = 0; at < len; at += piece)
			mtw_sha256_take(&s, text + at, len - at < piece ? len - at : piece);
	mtw_sha256_end(&s, out);
	return in_hex(out);
}

TEST(sha256_examples)
{
	static const struct {
		const char *text;
		size_t times;
		const char *hash;
	} known[] = {
		{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
		  "klmnopqrlmnopqrsmnopqrstnopqrstu",
		  1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
		{ "a", 1000000,
		  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
		/* Around the length that needs one block more for its padding. */
		{ "a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ "a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
		{ "a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
		{ "a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		CHECK_STR(hash(known[i].text, known[i].times, 1000), known[i].hash);
		CHECK_STR(hash(known[i].text, known[i].times, 1), known[i].hash);
		CHECK_STR(hash(known[i].text, known[i].times, 7), known[i].hash);
	}
}

TEST(hmac_examples)
{
	uint8_t ascending[25], key[131], out[MTW_HASH_LEN];

	for (size_t i = 0; i < sizeof(ascending); i++)
		ascending[i] = (uint8_t)(i + 1);
	const struct {
		const void *key;
		int fill;
		size_t key_len;
		const char *text;
		int text_fill;
		const char *hmac;
	} known[] = {
		{ NULL, 0x0b, 20, "Hi There", 0,
		  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ "Jefe", 0, 4, "what do ya want for nothing?", 0,
		  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ NULL, 0xaa, 20, NULL, 0xdd,
		  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
		{ ascending, 0, 25, NULL, 0xcd,
		  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
		{ NULL, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 0,
		  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
		{ NULL, 0xaa, 131,
		  "This is a test using a larger than block-size key and a larger than block-size "
		  "data. The key needs to be hashed before being used by the HMAC algorithm.",
		  0, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char text[50];
		memset(key, known[i].fill, sizeof(key));
		memset(text, known[i].text_fill, sizeof(text));
		mtw_hmac(known[i].key ? known[i].key : key, known[i].key_len, NULL,
			 known[i].text ? known[i].text : text,
			 known[i].text ? strlen(known[i].text) : sizeof(text), out);
		CHECK_STR(in_hex(out), known[i].hmac);
	}
}

/* A label counts as text in front of the text. */
TEST(a_label_is_text_in_front)
{
	static const char joined[] = MTW_LABEL_CLIENT "text";
	uint8_t one[MTW_HASH_LEN], two[MTW_HASH_LEN];

	CHECK_EQ(strlen(MTW_LABEL_CLIENT), MTW_LABEL_LEN);
	CHECK_EQ(strlen(MTW_LABEL_AGENT), MTW_LABEL_LEN);
	mtw_hmac("k", 1, MTW_LABEL_CLIENT, "text", 4, one);
	mtw_hmac("k", 1, NULL, joined, strlen(joined), two);
	CHECK(mtw_same(one, two, sizeof(one)));
	mtw_hmac("k", 1, MTW_LABEL_AGENT, "text", 4, two);
	CHECK(!mtw_same(one, two, sizeof(one)));
}

/* Every byte of the exchange and of the token changes both proofs; no gap of the struct is
 * hashed. */
TEST(a_proof_binds_all_of_the_greeting)
{
	struct mtw_exchange x;
	uint8_t first[MTW_PROOF_LEN], other[MTW_PROOF_LEN];

	CHECK_EQ(sizeof(x), 2 * MTW_GREETING_LEN + 2 * MTW_NONCE_LEN);
	memset(&x, 7, sizeof(x));
	mtw_proof("token", MTW_LABEL_CLIENT, &x, first);
	for (size_t i = 0; i < sizeof(x); i++) {
		((uint8_t *)&x)[i] ^= 0x80;
		mtw_proof("token", MTW_LABEL_CLIENT, &x, other);
		CHECK(!mtw_same(first, other, sizeof(first)));
		((uint8_t *)&x)[i] ^= 0x80;
	}
	mtw_proof("tokem", MTW_LABEL_CLIENT, &x, other);
	CHECK(!mtw_same(first, other, sizeof(first)));
	mtw_proof("token", MTW_LABEL_CLIENT, &x, other);
	CHECK(mtw_same(first, other, sizeof(first)));
}

TEST(same_sees_each_bit)
{
	uint8_t a[MTW_PROOF_LEN] = { 0 }, b[MTW_PROOF_LEN] = { 0 };

	CHECK(mtw_same(a, b, sizeof(a)));
	for (size_t bit = 0; bit < 8 * sizeof(a); bit++) {
		b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CHECK(!mtw_same(a, b, sizeof(a)));
		b[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CHECK(mtw_same(a, b, 0));
}
