/* SPDX-License-Identifier: MIT
 *
 * test_zstd_raw.c - a frame of raw blocks: its checksum against published values, its size, and
 * zstd's own reading of it.
 */
#include "check.h"

#include "dump/zstd_raw.h"

#include <stdlib.h>

struct taken {
	uint8_t *at;
	size_t len, room;
};

static bool take(void *arg, const void *bytes, size_t len)
{
	struct taken *t = arg;

	if (t->len + len > t->room)
		return false;
	memcpy(t->at + t->len, bytes, len);
	t->len += len;
	return true;
}

static uint64_t hash(const char *text)
{
	return zstd_raw_xxh64((const uint8_t *)text, strlen(text));
}

TEST(the_checksum_has_the_published_values)
{
	CHECK(hash("") == 0xef46db3751d8e999ull);
	CHECK(hash("a") == 0xd24ec4f1a98c6e5bull);
	CHECK(hash("abc") == 0x44bc2cf5ad770999ull);
	CHECK(hash("Nobody inspects the spammish repetition") == 0xfbcea83c8a378bf1ull);
}

TEST(zstd_reads_each_length)
{
	static const size_t lengths[] = { 1, 31, 32, 4000, 131071, 131072, 131073, 400000 };
	char command[160], name[64];

	if (system("zstd --version >/dev/null 2>&1"))
		return; /* tests/server/test_dump.py reads frames in any case */
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t len = lengths[i], room = zstd_raw_size(len);
		uint8_t *content = malloc(len);
		struct taken t = { malloc(room), 0, room };

		for (size_t k = 0; k < len; k++)
			content[k] = (uint8_t)(k * k >> 3);
		CHECK(zstd_raw_write(content, len, take, &t));
		CHECK_EQ(t.len, room);
		snprintf(name, sizeof name, "/tmp/memtop-zstd-%d", (int)getpid());
		FILE *f = fopen(name, "w");
		CHECK(fwrite(t.at, 1, t.len, f) == t.len && !fclose(f));
		snprintf(command, sizeof command, "test $(zstd -dc < %s | wc -c) = %zu", name, len);
		CHECK_EQ(system(command), 0);
		remove(name);
		free(content);
		free(t.at);
	}
}

TEST(a_failed_write_ends_it)
{
	uint8_t bytes[300] = { 0 }, out[200];
	struct taken t = { out, 0, sizeof out };

	CHECK(!zstd_raw_write(bytes, sizeof bytes, take, &t));
}
