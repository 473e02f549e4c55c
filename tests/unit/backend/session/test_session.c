/* SPDX-License-Identifier: MIT
 *
 * test_session.c - session files: round trip, cut at every byte, flipped bytes, empty, random, full
 * disk.
 */
#include "check.h"
#include "made_file.h"
#include "session/session.h"
#include <memtop/wire.h>

#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static void enter(void)
{
	strcpy(path, "/tmp/t_session.XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
}

/* Frame i of a session: its bytes follow from i alone. */
static size_t frame(unsigned i, uint8_t *payload, uint64_t *type, uint64_t *time_ns)
{
	size_t len = i % 7 == 0 ? 0 : i % 11 == 0 ? 900 : i % 53;

	for (size_t k = 0; k < len; k++)
		payload[k] = (uint8_t)(i * 31 + k * 7 + (k * k >> 3));
	*type = MTW_TICK + 1 + i % 19; /* ticks end blocks */
	*time_ns = i * 1000003ull;
	return len;
}

#define BLOCK 40 /* frames */

static void write_frames(struct session_writer *w, unsigned from, unsigned to)
{
	uint8_t payload[1024];
	uint64_t type, t;
	struct err err;

	for (unsigned i = from; i < to; i++) {
		size_t len = frame(i, payload, &type, &t);
		CHECK_EQ(session_frame(w, 0, t, type, payload, len, &err), 0);
		if (i % BLOCK == BLOCK - 1)
			CHECK_EQ(session_flush(w, &err), 0);
	}
}

static void write_file(unsigned frames)
{
	struct err err;
	struct session_writer *w = session_create(path, 0, &err);

	CHECK(w != NULL);
	write_frames(w, 0, frames);
	CHECK_EQ(session_close(w, &err), 0);
}

/* Reads to the end, checks that every frame is the right one. Returns frames; *rc the last
 * answer. */
static unsigned read_frames(struct session_reader *r, unsigned first, int *rc, struct err *err)
{
	uint8_t want[1024];
	const uint8_t *payload;
	uint64_t type, t, want_type, want_t;
	size_t len;
	unsigned i = first;

	while ((*rc = session_next(r, &t, &type, &payload, &len, err)) > 0) {
		size_t n = frame(i++, want, &want_type, &want_t);
		CHECK_EQ(len, n);
		CHECK_EQ(type, want_type);
		CHECK_EQ(t, want_t);
		CHECK(memcmp(payload, want, n) == 0);
	}
	return i - first;
}

TEST(a_file_reads_as_it_was_written)
{
	struct err err;
	struct stat st;
	int rc;

	enter();
	write_file(1000);
	CHECK(stat(path, &st) == 0);
	struct session_reader *r = session_open(path, 0, &err);
	CHECK(r != NULL);
	CHECK_EQ(read_frames(r, 0, &rc, &err), 1000);
	CHECK_EQ(rc, 0);
	CHECK(!session_cut(r));
	session_reader_free(r);
	unlink(path);
}

TEST(new_files_are_private)
{
	struct err err;
	struct stat st;

	enter();
	unlink(path);
	umask(0);
	write_file(3);
	CHECK(stat(path, &st) == 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK(session_create("/nowhere/x.mtop", 0, &err) == NULL);
	CHECK_EQ(err.status, 125);
	unlink(path);
}

TEST(what_another_one_writes_stays_whole)
{
	struct err err = { 0 };
	int rc;

	enter();
	struct session_writer *w = session_create(path, 0, &err);
	CHECK(w != NULL);
	write_frames(w, 0, 100);
	CHECK_EQ(session_flush(w, &err), 0);
	CHECK(session_busy(path));
	CHECK(session_create(path, 0, &err) == NULL);
	CHECK_EQ(err.status, 125);
	CHECK(strstr(err.text, "another memtop is writing to it") != NULL);
	CHECK(session_copy(w, path, &err) != 0);
	write_frames(w, 100, 200);
	CHECK_EQ(session_close(w, &err), 0);
	CHECK(!session_busy(path));
	struct session_reader *r = session_open(path, 0, &err);
	CHECK_EQ(read_frames(r, 0, &rc, &err), 200);
	CHECK(!session_cut(r));
	session_reader_free(r);
	write_file(3); /* the name is free again */
	unlink(path);
}

TEST(frames_up_to_the_limit_are_kept)
{
	enter();
	struct err err;
	struct session_writer *w = session_create(path, 0, &err);
	uint8_t *big = malloc(MTW_FRAME_MAX + 1);
	const uint8_t *payload;
	uint64_t type, t, state = 1;
	size_t len;

	for (size_t i = 0; i < MTW_FRAME_MAX; i++)
		big[i] = (uint8_t)((state = state * 6364136223846793005u + 1442695040888963407u) >>
				   56);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(session_frame(w, 0, (uint64_t)i, 9, big, MTW_FRAME_MAX, &err), 0);
	CHECK_EQ(session_frame(w, 0, 4, 9, big, MTW_FRAME_MAX + 1, &err), -1);
	CHECK_EQ(session_close(w, &err), 0);
	struct session_reader *r = session_open(path, 0, &err);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(session_next(r, &t, &type, &payload, &len, &err), 1);
		CHECK(len == MTW_FRAME_MAX && memcmp(payload, big, len) == 0);
	}
	CHECK_EQ(session_next(r, &t, &type, &payload, &len, &err), 0);
	session_reader_free(r);
	unlink(path);
}

TEST(cut_at_every_byte)
{
	uint8_t *bytes;
	struct err err;
	unsigned before = 0;
	int rc;

	enter();
	write_file(5 * BLOCK);
	size_t size = made_load(path, &bytes);
	for (size_t n = 0; n < size; n++) {
		CHECK(truncate(path, 0) == 0);
		made_store(path, bytes, n);
		struct session_reader *r = session_open(path, 0, &err);
		if (n < 16) {
			CHECK(r == NULL && err.status == 3 &&
			      strstr(err.text, "not a session file") &&
			      !strstr(err.text, "-o")); /* never over what is there */
			continue;
		}
		CHECK(r != NULL);
		unsigned got = read_frames(r, 0, &rc, &err);
		CHECK_EQ(rc, 0);
		CHECK(session_cut(r));
		CHECK_EQ(got % BLOCK, 0); /* whole blocks only ... */
		CHECK(got >= before);     /* ... and no byte more loses one */
		before = got;
		session_reader_free(r);
	}
	CHECK_EQ(before, 5 * BLOCK);
	unlink(path);
}

/* With any wrong bit the reader returns only correct frames and reports the damage. */
/* The last time in the file as its writer has left it so far. */
static uint64_t written_until(void)
{
	struct err err;
	struct session_reader *r = session_open(path, 0, &err);
	const uint8_t *payload;
	uint64_t type, t, last = 0;
	size_t len;

	CHECK(r != NULL);
	while (session_next(r, &t, &type, &payload, &len, &err) > 0)
		last = t;
	session_reader_free(r);
	return last;
}

TEST(a_killed_writer_loses_a_quarter_of_its_time)
{
	const uint8_t tick[] = { 1, 2, MTW_TICK_COMPLETE };
	struct err err;

	enter();
	struct session_writer *w = session_create(path, 0, &err);
	CHECK(w != NULL);
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t t = 7000000 + i * 10000000;

		CHECK_EQ(session_frame(w, 0, t, MTW_S_META, tick, sizeof tick, &err), 0);
		CHECK_EQ(session_frame(w, 0, t, MTW_TICK, tick, sizeof tick, &err), 0);
		CHECK(written_until() * 4 + 7000000 >= t * 3);
	}
	CHECK_EQ(session_close(w, &err), 0);
	unlink(path);
}

TEST(flipped_bytes)
{
	uint8_t *bytes;
	struct err err;
	int rc;

	enter();
	write_file(3 * BLOCK);
	size_t size = made_load(path, &bytes);
	for (size_t n = 0; n < size; n++) {
		bytes[n] ^= (uint8_t)(1 << n % 8);
		made_store(path, bytes, size);
		bytes[n] ^= (uint8_t)(1 << n % 8);
		struct session_reader *r = session_open(path, 0, &err);
		if (!r) {
			CHECK(n < 10);
			continue;
		}
		const uint8_t *payload;
		uint64_t type, t;
		size_t len;
		unsigned got = 0;
		while ((rc = session_next(r, &t, &type, &payload, &len, &err)) > 0)
			got++;
		CHECK(got == 3 * BLOCK || got % BLOCK == 0);
		CHECK(got == 3 * BLOCK || rc < 0 || session_cut(r));
		if (rc < 0)
			CHECK(strstr(err.text, "damaged at byte") != NULL);
		session_reader_free(r);
	}
	unlink(path);
}

TEST(empty_and_random_files)
{
	uint8_t bytes[4096];
	struct err err;
	uint64_t state = 42;

	enter();
	CHECK(session_open(path, 0, &err) == NULL);
	CHECK(strstr(err.text, "it is empty") && err.status == 3);
	CHECK(session_open("/nowhere/a.mtop", 0, &err) == NULL);
	CHECK(session_open("/tmp", 0, &err) == NULL);
	for (int i = 0; i < 300; i++) {
		for (size_t k = 0; k < sizeof bytes; k++)
			bytes[k] = (uint8_t)((state = state * 6364136223846793005u +
						      1442695040888963407u) >>
					     56);
		if (i % 2)
			memcpy(bytes, "MEMTOPS\n\1\0\0\0\0\0\0\0BLK1", 20);
		made_store(path, bytes, sizeof bytes - (size_t)i);
		struct session_reader *r = session_open(path, 0, &err);
		if (!r) {
			CHECK_EQ(i % 2, 0);
			continue;
		}
		const uint8_t *payload;
		uint64_t type, t;
		size_t len;
		CHECK(session_next(r, &t, &type, &payload, &len, &err) <= 0);
		session_reader_free(r);
	}
	unlink(path);
}

TEST(another_format_is_said)
{
	static const uint8_t head[16] = "MEMTOPS\n\3";
	struct err err;

	enter();
	made_store(path, head, sizeof head);
	CHECK(session_open(path, 0, &err) == NULL);
	CHECK(strstr(err.text, "format 3") != NULL);
	unlink(path);
}

TEST(a_copy_is_whole_while_writing_goes_on)
{
	char copy[80];
	struct err err;
	int rc;

	enter();
	snprintf(copy, sizeof copy, "%s.copy", path);
	struct session_writer *w = session_create(path, 0, &err);
	write_frames(w, 0, 55);
	CHECK_EQ(session_copy(w, copy, &err), 0);
	write_frames(w, 55, 100);
	CHECK_EQ(session_close(w, &err), 0);
	struct session_reader *r = session_open(copy, 0, &err);
	CHECK_EQ(read_frames(r, 0, &rc, &err), 55);
	CHECK(!session_cut(r));
	session_reader_free(r);
	r = session_open(path, 0, &err);
	CHECK_EQ(read_frames(r, 0, &rc, &err), 100);
	session_reader_free(r);
	unlink(path);
	unlink(copy);
}

/* A disk that fills in the middle of a block: memtop reports the saved part, which opens and is
 * correct. */
TEST(a_full_disk_keeps_what_fits)
{
	struct rlimit limit = { 3000, 3000 };
	uint8_t payload[1024];
	uint64_t type, t;
	struct err err = { 0 };
	unsigned i = 0;
	int rc;

	enter();
	signal(SIGXFSZ, SIG_IGN);
	struct session_writer *w = session_create(path, 0, &err);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	for (rc = 0; rc == 0 && i < 10000; i++) {
		size_t len = frame(i, payload, &type, &t);
		rc = session_frame(w, 0, t, type, payload, len, &err);
		if (rc == 0 && i % 10 == 9)
			rc = session_flush(w, &err);
	}
	CHECK_EQ(rc, -1);
	CHECK_EQ(err.status, 125);
	CHECK(strstr(err.text, "are saved and can be opened") != NULL);
	CHECK(session_written(w) <= 3000);
	CHECK_EQ(session_frame(w, 0, 1, 1, NULL, 0, &err), -1);
	CHECK_EQ(session_close(w, &err), -1);
	struct session_reader *r = session_open(path, 0, &err);
	CHECK(r != NULL);
	unsigned got = read_frames(r, 0, &rc, &err);
	CHECK(rc == 0 && got > 0 && got % 10 == 0);
	session_reader_free(r);
	unlink(path);
}

TEST(a_bounded_file_stays_below_its_size)
{
	struct err err = { 0 };
	struct stat st;

	enter();
	struct session_writer *w = session_create(path, 2000, &err);
	uint8_t payload[1024];
	uint64_t type, t;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < 100000; i++) {
		size_t len = frame(i, payload, &type, &t);
		rc = session_frame(w, 0, t, type, payload, len, &err);
		if (i % 10 == 9 && rc == 0)
			rc = session_flush(w, &err);
	}
	CHECK_EQ(rc, -1);
	CHECK_EQ(session_close(w, &err), -1);
	CHECK(stat(path, &st) == 0 && st.st_size <= 2000);
	unlink(path);
}
