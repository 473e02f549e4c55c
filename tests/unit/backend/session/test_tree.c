/* SPDX-License-Identifier: MIT
 *
 * test_tree.c - session files with several streams: each reads back by itself, cut anywhere, with
 * any wrong bit, from a full disk; a file with one stream keeps the version that every memtop
 * reads.
 */
#include "check.h"
#include "made_file.h"
#include "link/recorder.h"
#include "session/session.h"
#include <memtop/wire.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#define STREAMS 4
#define ROUNDS 4
#define FRAMES 12 /* of each stream in a round; then all blocks are closed */

static const uint32_t streams[STREAMS] = { 0, 2, 7000, SESSION_TABLE };
static char path[64];

static void enter(void)
{
	strcpy(path, "/tmp/t_session_tree.XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
}

/* Frame i of stream s: its bytes follow from these two. */
static size_t frame(unsigned s, unsigned i, uint8_t payload[64], uint64_t *time_ns)
{
	size_t len = (s * 7 + i * 5) % 60;

	for (size_t k = 0; k < len; k++)
		payload[k] = (uint8_t)(s * 101 + i * 31 + k);
	*time_ns = i * (1000003ull + s);
	return len;
}

static int write_round(struct session_writer *w, unsigned round, struct err *err)
{
	uint8_t payload[64];
	uint64_t t;

	for (unsigned i = round * FRAMES; i < (round + 1) * FRAMES; i++)
		for (unsigned s = 0; s < STREAMS; s++) {
			size_t len = frame(s, i, payload, &t);
			if (session_frame(w, streams[s], t, MTW_TICK + 1 + i % 19, payload, len,
					  err))
				return -1;
		}
	return session_flush(w, err);
}

static void write_file(void)
{
	struct err err = { 0 };
	struct session_writer *w = session_create(path, 0, &err);

	CHECK(w != NULL);
	for (unsigned round = 0; round < ROUNDS; round++)
		CHECK_EQ(write_round(w, round, &err), 0);
	CHECK_EQ(session_close(w, &err), 0);
}

/* How many frames of the stream are there; each is the right one. */
static unsigned read_stream(const char *file, unsigned s, int *rc, bool *cut)
{
	uint8_t want[64];
	const uint8_t *payload;
	uint64_t type, t, want_t;
	size_t len;
	struct err err = { 0 };
	unsigned i = 0;
	struct session_reader *r = session_open(file, streams[s], &err);

	*rc = -1;
	if (!r)
		return 0;
	while ((*rc = session_next(r, &t, &type, &payload, &len, &err)) > 0) {
		CHECK_EQ(len, frame(s, i, want, &want_t));
		CHECK_EQ(t, want_t);
		CHECK_EQ(type, MTW_TICK + 1 + i % 19);
		CHECK(!memcmp(payload, want, len));
		CHECK_EQ(session_stream(r), streams[s]);
		i++;
	}
	*cut = session_cut(r);
	session_reader_free(r);
	return i;
}

/* Without a look at times, which no checksum covers in the head of a block of stream 0. */
static unsigned count_stream(unsigned s, int *rc, bool *cut)
{
	uint8_t want[64];
	const uint8_t *payload;
	uint64_t type, t;
	size_t len;
	struct err err;
	unsigned i = 0;
	struct session_reader *r = session_open(path, streams[s], &err);

	CHECK(r != NULL);
	while ((*rc = session_next(r, &t, &type, &payload, &len, &err)) > 0) {
		CHECK_EQ(len, frame(s, i, want, &t));
		CHECK(!memcmp(payload, want, len));
		i++;
	}
	*cut = session_cut(r);
	session_reader_free(r);
	return i;
}

static unsigned version(void)
{
	uint8_t head[16];
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head);
	close(fd);
	return head[8];
}

TEST(each_stream_reads_back)
{
	int rc;
	bool cut;

	enter();
	write_file();
	CHECK_EQ(version(), 2);
	for (unsigned s = 0; s < STREAMS; s++) {
		CHECK_EQ(read_stream(path, s, &rc, &cut), ROUNDS * FRAMES);
		CHECK(rc == 0 && !cut);
	}
	struct err err;
	struct session_reader *r = session_open(path, 99, &err); /* nobody's */
	const uint8_t *payload;
	uint64_t type, t;
	size_t len;
	CHECK_EQ(session_next(r, &t, &type, &payload, &len, &err), 0);
	session_reader_free(r);
	unlink(path);
}

TEST(one_stream_is_version_1)
{
	struct err err;

	enter();
	struct session_writer *w = session_create(path, 0, &err);
	CHECK_EQ(session_frame(w, 0, 5, 9, NULL, 0, &err), 0);
	CHECK_EQ(session_flush(w, &err), 0);
	CHECK_EQ(version(), 1);
	CHECK_EQ(session_frame(w, 3, 5, 9, NULL, 0, &err), 0);
	CHECK_EQ(version(), 1);
	CHECK_EQ(session_flush(w, &err), 0);
	CHECK_EQ(version(), 2);
	CHECK_EQ(session_close(w, &err), 0);
	w = session_create(path, 0, &err);
	CHECK_EQ(session_frame(w, 0, 5, 9, NULL, 0, &err), 0);
	CHECK_EQ(session_close(w, &err), 0);
	CHECK_EQ(version(), 1);
	unlink(path);
}

/* Each stream to its last whole block; no byte more loses one. */
TEST(cut_at_every_byte)
{
	uint8_t *bytes;
	unsigned before[STREAMS] = { 0 };
	int rc;
	bool cut;

	enter();
	write_file();
	size_t size = made_load(path, &bytes);
	for (size_t n = 16; n < size; n++) {
		made_store(path, bytes, n);
		for (unsigned s = 0; s < STREAMS; s++) {
			unsigned got = read_stream(path, s, &rc, &cut);
			CHECK(rc == 0 && cut);
			CHECK_EQ(got % FRAMES, 0);
			CHECK(got >= before[s]);
			before[s] = got;
		}
	}
	for (unsigned s = 0; s < STREAMS; s++)
		CHECK_EQ(before[s], ROUNDS * FRAMES);
	unlink(path);
}

/* A stream gets no frame of another, and none that was not written. */
TEST(flipped_bytes)
{
	uint8_t *bytes;
	int rc;
	bool cut;

	enter();
	write_file();
	size_t size = made_load(path, &bytes);
	for (size_t n = 16; n < size; n++) {
		bytes[n] ^= (uint8_t)(1 << n % 8);
		made_store(path, bytes, size);
		bytes[n] ^= (uint8_t)(1 << n % 8);
		for (unsigned s = 0; s < STREAMS; s++) {
			unsigned got = count_stream(s, &rc, &cut);
			CHECK(got % FRAMES == 0);
			CHECK(got == ROUNDS * FRAMES || rc < 0 || cut);
		}
	}
	unlink(path);
}

TEST(a_disk_that_fills)
{
	struct rlimit limit = { 2500, 2500 };
	struct err err = { 0 };
	bool cut;
	int rc = 0;

	enter();
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	struct session_writer *w = session_create(path, 0, &err);
	for (unsigned round = 0; round < 500 && rc == 0; round++)
		rc = write_round(w, round, &err);
	CHECK(rc != 0 && err.status == 125);
	CHECK(strstr(err.text, "are saved") != NULL);
	CHECK_EQ(session_frame(w, 2, 1ull << 40, 1, NULL, 0, &err), -1);
	CHECK_EQ(session_close(w, &err), -1);
	for (unsigned s = 0; s < STREAMS; s++) {
		unsigned got = read_stream(path, s, &rc, &cut);
		CHECK(rc == 0 && got >= FRAMES && got % FRAMES == 0);
	}
	unlink(path);
}

TEST(a_copy_has_all_streams)
{
	char copy[80];
	struct err err = { 0 };
	bool cut;
	int rc;

	enter();
	snprintf(copy, sizeof copy, "%s.copy", path);
	struct session_writer *w = session_create(path, 0, &err);
	for (unsigned round = 0; round < 3; round++)
		CHECK_EQ(write_round(w, round, &err), 0);
	CHECK_EQ(session_copy(w, copy, &err), 0);
	for (unsigned s = 0; s < STREAMS; s++) {
		CHECK_EQ(read_stream(copy, s, &rc, &cut), 3 * FRAMES);
		CHECK(!cut);
	}
	CHECK_EQ(session_end(w, 7000, &err), 0);
	CHECK_EQ(session_close(w, &err), 0);
	unlink(copy);

	/* Rules that were added to a saved session are a part of one stream; the others stay as
	 * they are. */
	struct expected *rules = expected_new();
	CHECK_EQ(expected_set(rules, "a!b", true), 0);
	CHECK_EQ(recorder_copy_file(path, copy, rules, 2, &err), 0);
	for (unsigned s = 0; s < STREAMS; s++)
		if (streams[s] != 2)
			CHECK_EQ(read_stream(copy, s, &rc, &cut), 3 * FRAMES);
	struct session_reader *r = session_open(copy, 2, &err);
	const uint8_t *payload;
	uint64_t type = 0, t;
	size_t len;
	unsigned n = 0;
	while (session_next(r, &t, &type, &payload, &len, &err) > 0)
		n++;
	CHECK_EQ(n, 3 * FRAMES + 1);
	CHECK_EQ(type, MTW_S_EXPECTED);
	session_reader_free(r);
	expected_free(rules);
	unlink(path);
	unlink(copy);
}
