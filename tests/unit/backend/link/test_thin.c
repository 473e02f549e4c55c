/* SPDX-License-Identifier: MIT
 *
 * test_thin.c - sessions of a made day, thinned: which ticks stay by their age, that each that
 * stays is as it was, and that readers, key frames and a writer that goes on agree with it.
 */
#include "check.h"
#include "frames.h"
#include "key.h"
#include "slots.h"
#include "link/thin/thin.h"
#include "model/model.h"
#include "session/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define NS 1000000000ull
#define SLOTS 9u
#define MARKS 12u
#define DAY 86400u

static struct session_writer *file;
static struct model *now;
static char path[64], thinner[80];
static uint64_t ticks, time_ns, marked[MARKS + 1];

static int apply(void *arg, const struct event *e, struct err *err)
{
	return model_apply(arg, e, err);
}

static void sent(unsigned type, const uint8_t *bytes, size_t len)
{
	struct err err = { 0 };

	CHECK_EQ(session_frame(file, 0, time_ns, type, bytes, len, &err), 0);
	CHECK_EQ(wire_read(type, bytes, len, apply, now, &err), 0);
}

/* The counters of a slot at a time follow from both: it changes every few seconds. */
static uint64_t grown(uint32_t slot, uint64_t ns)
{
	return ns / NS / (slot * slot) + 1;
}

static void step(uint64_t by_ns, unsigned flags)
{
	uint64_t blocks = 0, freed = 0, before = time_ns;

	time_ns += by_ns;
	ticks++;
	for (uint32_t s = 1; s <= SLOTS; s++) {
		uint64_t n = grown(s, time_ns);
		blocks += n;
		freed += n / 2;
		if (ticks == 1 || n != grown(s, before))
			NUMBERS(MTW_COUNTS, 1, s, n, 100 * n, n / 2, 50 * (n - n % 2));
	}
	NUMBERS(MTW_PROCESS, time_ns, 0, 1, 0);
	NUMBERS(MTW_TOTALS, time_ns, blocks, 100 * blocks, freed, 100 * freed, 100 * blocks, 0,
		time_ns, 0, 0, 0, 0, SLOTS, SLOTS, 0);
	NUMBERS(MTW_TICK, ticks, time_ns, flags);
}

/* Between two ticks; its frame comes with the next one. */
static void mark(uint32_t id)
{
	marked[id] = time_ns + NS / 20;
	begin();
	PUT(id, 0, MTW_MARK_TOTALS_ONLY, marked[id]);
	mtw_put_string(&out, "");
	mtw_put_string(&out, "test");
	PUT(1, 1, 0, 0, 0);
	end(MTW_MARK);
}

static void start(void)
{
	struct err err = { 0 };

	ticks = time_ns = 0;
	snprintf(path, sizeof path, "/tmp/t_thin.%d.mtop", (int)getpid());
	snprintf(thinner, sizeof thinner, "%s.thin", path);
	setenv("MEMTOP_TEST_KEY_BYTES", "60000", 1);
	file = session_create(path, 0, &err);
	CHECK(file != NULL);
	now = model_new();
	hello_frame(100, 5);
	module_frame();
	for (uint32_t s = 1; s <= SLOTS; s++) {
		NUMBERS(MTW_NODES, 1, s, MTW_NODE_CODE, s - 1, 1, 16 * s);
		NUMBERS(MTW_SLOTS, 1, s, s, 0);
	}
}

/* A tick a second for so long, and the last two minutes ten a second. */
static void live(unsigned seconds, unsigned marks)
{
	step(NS / 10, 0); /* the first state is not whole yet */
	for (unsigned i = 1; i <= seconds - 120; i++) {
		step(NS, MTW_TICK_COMPLETE);
		if (i % ((seconds - 120) / marks) == 0 && i / ((seconds - 120) / marks) <= marks)
			mark(i / ((seconds - 120) / marks));
		if (i % 60 == 0)
			key_put(file, now, time_ns);
	}
	for (unsigned i = 0; i < 1200; i++)
		step(NS / 10, MTW_TICK_COMPLETE);
}

static void leave(void)
{
	struct err err = { 0 };

	if (file)
		session_close(file, &err);
	model_free(now);
	unlink(path);
	unlink(thinner);
}

static uint64_t written(void)
{
	struct err err = { 0 };

	session_flush(file, &err);
	return session_written(file);
}

static void is_right(const struct model *m)
{
	struct err err = { 0 };

	CHECK(model_check(m, &err));
	for (uint32_t s = 1; s <= SLOTS; s++) {
		uint64_t n = grown(s, model_time(m));
		CHECK_EQ(made_now(m, s).alloc_blocks, n);
		CHECK_EQ(made_now(m, s).free_bytes, 50 * (n - n % 2));
	}
	CHECK_EQ(model_totals(m)->time_ns, model_time(m));
}

static uint64_t seen[200000];

/* Reads to the end, tick by tick. Returns the ticks. */
static size_t read_all(const char *from, struct model *m)
{
	struct err err = { 0 };
	struct session_reader *r = session_open(from, 0, &err);
	const uint8_t *bytes;
	uint64_t at, type;
	size_t len, n = 0;
	int rc;

	CHECK(r != NULL);
	while ((rc = session_next(r, &at, &type, &bytes, &len, &err)) > 0) {
		CHECK_EQ(wire_read(type, bytes, len, apply, m, &err), 0);
		if (type != MTW_TICK)
			continue;
		is_right(m);
		CHECK_EQ(at, model_time(m));
		seen[n++] = model_time(m);
	}
	CHECK_EQ(rc, 0);
	session_reader_free(r);
	return n;
}

static bool is_instant_of_mark(uint64_t t)
{
	for (uint32_t i = 1; i <= MARKS; i++)
		if (marked[i] && t == marked[i] - NS / 20)
			return true;
	return false;
}

static size_t key_count;

static bool is_seen(uint64_t t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (seen[i] == t)
			return true;
	return false;
}

/* What stays: one in so much time, by age, and a few more. */
static void spaced(size_t n)
{
	static const uint64_t rule[][3] = { /* age from, to, apart: seconds */
					    { 60, 600, 1 },
					    { 600, 7200, 10 },
					    { 7200, DAY, 60 },
					    { DAY, 7 * DAY, 600 }
	};
	uint64_t end_ns = seen[n - 1];

	for (size_t k = 0; k < sizeof rule / sizeof *rule; k++) {
		uint64_t oldest = end_ns - (rule[k][1] * NS < end_ns ? rule[k][1] * NS : end_ns),
			 youngest = end_ns - (rule[k][0] * NS < end_ns ? rule[k][0] * NS : end_ns);
		uint64_t count = 0, want = (youngest - oldest) / NS / rule[k][2];
		for (size_t i = 1; i < n; i++) {
			if (seen[i] <= oldest || seen[i] > youngest)
				continue;
			if (seen[i - 1] > oldest)
				CHECK(seen[i] - seen[i - 1] <= (rule[k][2] + 1) * NS);
			count += !is_instant_of_mark(seen[i]);
		}
		if (count > want * 9 / 7 + 4 + key_count || count + 2 < want * 9 / 10)
			printf("  %d s to %d s: %d ticks, not %d\n", (int)rule[k][0],
			       (int)rule[k][1], (int)count, (int)want);
		CHECK(count <= want * 9 / 7 + 4 + key_count && count + 2 >= want * 9 / 10);
	}
	size_t young = 0;
	while (young < n && seen[n - 1 - young] > end_ns - 60 * NS)
		young++;
	CHECK(young >= 600); /* all of the last minute */
}

/* Each key frame of the file: the same end as from the start, and instants that exist. */
static void keys_agree(const char *from, size_t n)
{
	struct err err = { 0 };
	struct session_reader *r = session_open(from, 0, &err);
	const struct session_key *keys;
	const struct instant *list;
	const uint8_t *bytes;
	uint64_t at, type;
	size_t len;

	key_count = session_keys(r, &keys);
	for (size_t i = 0; i < key_count; i++) {
		struct model *m = model_new();
		CHECK(session_start_at(r, &keys[i]));
		while (session_next(r, &at, &type, &bytes, &len, &err) > 0) {
			CHECK_EQ(wire_read(type, bytes, len, apply, m, &err), 0);
			if (type != MTW_S_KEY)
				continue;
			CHECK_EQ(model_ticks_read(m), keys[i].ticks);
			for (size_t k = model_instants(m, &list); k--;)
				CHECK(is_seen(list[k].time_ns, n));
		}
		CHECK_EQ(model_catch_up(m, &err), 0);
		is_right(m);
		CHECK_EQ(model_ticks_read(m), ticks);
		if (ticks < 65536) /* a model drops some beyond that */
			CHECK_EQ(model_instants(m, &list), n - 1); /* all whole ones */
		model_free(m);
		session_rewind(r);
	}
	session_reader_free(r);
}

static void thin_now(struct err *err)
{
	static const struct timespec wait = { 0, 1000000 };
	const uint64_t *list;
	unsigned times = 0, before;

	session_thinned(file, 0, &times, &list);
	before = times;
	file->thinning.least = 1;
	file->ticks[0].dense_bytes = UINT32_MAX;
	file->ticks[0].dense_from_ns = 1;
	for (int i = 0; i < 20000 && times == before && !*err->text; i++) {
		session_thin(file, thin_file, err);
		nanosleep(&wait, NULL);
		size_t n = session_thinned(file, 0, &times, &list);
		if (n)
			model_keep_instants(now, list, n);
	}
}

TEST(a_day_keeps_what_the_rule_says)
{
	struct err err = { 0 };

	start();
	live(DAY + 7200, MARKS);
	written();
	thin_now(&err);
	struct model *m = model_new();
	size_t n = read_all(path, m);
	CHECK_EQ(model_ticks_read(m), ticks);
	CHECK_EQ(model_time(m), time_ns);
	CHECK_EQ(seen[1], NS / 10 + NS); /* the first whole one */
	for (uint32_t i = 1; i <= MARKS; i++) {
		CHECK(is_seen(marked[i] - NS / 20, n));
		CHECK_EQ(model_mark(m, i)->time_ns, marked[i]);
	}
	keys_agree(path, n);
	CHECK(key_count > 0);
	spaced(n);
	model_free(m);
	leave();
}

TEST(thinned_again_it_is_the_same)
{
	struct err err = { 0 };

	start();
	live(9000, 3);
	uint64_t bytes = written();
	thin_now(&err);
	CHECK(written() < bytes / 2);
	bytes = written();
	struct model *a = model_new(), *b = model_new();
	size_t n = read_all(path, a);
	thin_now(&err);
	CHECK_STR(err.text, "");
	CHECK_EQ(written(), bytes);
	CHECK_EQ(read_all(path, b), n);
	CHECK_EQ(model_ticks_read(b), ticks);
	keys_agree(path, n);
	model_free(a);
	model_free(b);
	leave();
}

TEST(the_writer_goes_on_in_the_thinner_file)
{
	struct err err = { 0 };
	struct stat before, after;
	const struct instant *list;

	setenv("MEMTOP_TEST_THIN_BYTES", "1000", 1);
	start();
	live(9000, 3);
	written();
	CHECK(stat(path, &before) == 0);
	struct session_reader *old = session_open(path, 0, &err);
	CHECK_EQ(session_thin(file, thin_file, &err), 0);
	for (int i = 0; i < 300; i++) { /* while the child reads */
		step(NS / 10, MTW_TICK_COMPLETE);
		if (i % 10 == 0)
			written();
	}
	thin_now(&err);
	CHECK_STR(err.text, "");
	for (int i = 0; i < 300; i++)
		step(NS / 10, MTW_TICK_COMPLETE);
	written();
	CHECK(stat(path, &after) == 0);
	CHECK(after.st_size < before.st_size / 2 && after.st_ino != before.st_ino);
	CHECK_EQ(after.st_mode, before.st_mode);
	/* who had the old one open reads it to its end */
	const uint8_t *bytes;
	uint64_t at, type, old_ticks = 0;
	size_t len;
	while (session_next(old, &at, &type, &bytes, &len, &err) > 0)
		old_ticks += type == MTW_TICK;
	CHECK_STR(err.text, "");
	CHECK_EQ(old_ticks, ticks - 600);
	session_reader_free(old);
	old = session_open(path, 0, &err);
	CHECK(session_being_written(old));
	session_reader_free(old);
	key_put(file, now, time_ns);
	CHECK_EQ(session_close(file, &err), 0);
	file = NULL;
	struct model *m = model_new();
	size_t n = read_all(path, m);
	CHECK_EQ(model_ticks_read(m), ticks);
	CHECK_EQ(model_instants(now, &list), n - 1);
	keys_agree(path, n);
	model_free(m);
	leave();
}

TEST(what_a_thinning_would_not_make_smaller_is_left_alone)
{
	struct err err = { 0 };

	setenv("MEMTOP_TEST_THIN_BYTES", "1000", 1);
	start();
	for (uint32_t id = SLOTS + 1; id < 3000; id++) /* call paths stay, as in a build */
		NUMBERS(MTW_NODES, 1, id, MTW_NODE_CODE, 0, 1, 16 * id);
	for (int i = 0; i < 590; i++) { /* and so does the last minute */
		step(NS / 10, MTW_TICK_COMPLETE);
		written();
		CHECK_EQ(session_thin(file, thin_file, &err), 0);
		CHECK(!session_thins(file));
	}
	for (int i = 0; i < 3000 && !session_thins(file); i++) {
		step(NS / 10, MTW_TICK_COMPLETE);
		written();
		CHECK_EQ(session_thin(file, thin_file, &err), 0);
	}
	CHECK(session_thins(file));
	CHECK(file->ticks[0].dense_bytes > 0); /* of the last minute, and no more */
	CHECK_EQ(session_loose(&file->ticks[0]), 0);
	session_thin_stop(file);
	leave();
}

TEST(a_file_that_was_moved_is_left_alone)
{
	struct err err = { 0 };
	char moved[100];
	struct stat st;

	setenv("MEMTOP_TEST_THIN_BYTES", "1000", 1);
	start();
	live(1000, 1);
	uint64_t bytes = written();
	snprintf(moved, sizeof moved, "%s.moved", path);
	CHECK(rename(path, moved) == 0);
	for (int i = 0; i < 50; i++)
		CHECK_EQ(session_thin(file, thin_file, &err), 0);
	CHECK(stat(path, &st) != 0);
	CHECK(stat(moved, &st) == 0 && (uint64_t)st.st_size == bytes);
	unlink(moved);
	leave();
}

TEST(a_write_that_fails_is_told_by_its_errno)
{
	struct err err = { 0 };
	struct stat st;

	start();
	live(1000, 1);
	uint64_t bytes = written();
	const struct rlimit small = { 3000, 3000 };
	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	thin_now(&err);
	CHECK(strstr(err.text, strerror(EFBIG)) != NULL);
	CHECK(stat(path, &st) == 0 && (uint64_t)st.st_size == bytes);
	CHECK(stat(thinner, &st) != 0);
	unlink(path);
}

TEST(a_session_that_ends_while_it_thins_is_whole)
{
	struct err err = { 0 };
	struct stat st;

	setenv("MEMTOP_TEST_THIN_BYTES", "1000", 1);
	start();
	live(9000, 3);
	written();
	CHECK_EQ(session_thin(file, thin_file, &err), 0);
	CHECK(session_thins(file));
	session_thin_stop(file);
	CHECK_EQ(session_close(file, &err), 0);
	file = NULL;
	CHECK(stat(thinner, &st) != 0);
	struct model *m = model_new();
	CHECK_EQ(read_all(path, m), ticks);
	model_free(m);
	leave();
}

static int fails(struct session_thinning *job)
{
	(void)job;
	return ENOSPC;
}

TEST(a_full_disk_leaves_the_old_file_and_is_told_once)
{
	struct err err = { 0 };
	struct stat st;
	int told = 0;

	setenv("MEMTOP_TEST_THIN_BYTES", "1000", 1);
	start();
	live(1000, 1);
	for (int i = 0; i < 2000; i++) {
		static const struct timespec wait = { 0, 1000000 };
		told += session_thin(file, fails, &err) != 0;
		nanosleep(&wait, NULL);
		step(NS, MTW_TICK_COMPLETE);
		written();
	}
	CHECK_EQ(told, 1);
	CHECK(strstr(err.text, "disk full") != NULL);
	CHECK(stat(path, &st) == 0 && (uint64_t)st.st_size == session_written(file));
	CHECK(stat(thinner, &st) != 0);
	struct model *m = model_new();
	CHECK_EQ(read_all(path, m), ticks);
	model_free(m);
	leave();
}

#define CUTS 200

static struct {
	uint64_t end, ticks; /* of a block; of those up to it */
} blocks[20000];
static size_t block_count;

/* Of the whole file. Returns its bytes. */
static uint64_t list_blocks(void)
{
	struct err err = { 0 };
	struct session_reader *r = session_open(path, SESSION_ALL, &err);
	const uint8_t *bytes;
	uint64_t at, type, read = 0, block = 0;
	struct stat st;
	size_t len;

	block_count = 0;
	while (session_next(r, &at, &type, &bytes, &len, &err) > 0) {
		if (session_block(r) != block) {
			block = session_block(r);
			uint8_t head[SESSION_BLOCK_HEAD];
			int fd = open(path, O_RDONLY);
			CHECK_EQ(pread(fd, head, sizeof head, (off_t)block), sizeof head);
			close(fd);
			blocks[block_count++].end =
				block + SESSION_BLOCK_HEAD + session_get(head + 4, 4);
		}
		read += type == MTW_TICK;
		blocks[block_count - 1].ticks = read;
	}
	session_reader_free(r);
	CHECK(stat(path, &st) == 0);
	return (uint64_t)st.st_size;
}

static void cut_at(uint64_t bytes)
{
	struct err err = { 0 };
	const struct session_key *keys;
	const uint8_t *frame;
	uint64_t at, type, read = 0, want = 0;
	size_t len;
	int rc;

	for (size_t i = 0; i < block_count && blocks[i].end <= bytes; i++)
		want = blocks[i].ticks;
	CHECK(truncate(path, (off_t)bytes) == 0);
	struct session_reader *r = session_open(path, 0, &err);
	CHECK(r != NULL);
	while ((rc = session_next(r, &at, &type, &frame, &len, &err)) > 0)
		read += type == MTW_TICK;
	CHECK_EQ(rc, 0);
	CHECK(session_cut(r));
	CHECK_EQ(read, want);
	for (size_t i = 0, n = session_keys(r, &keys); i < n; i++) {
		CHECK(session_start_at(r, &keys[i]));
		while ((rc = session_next(r, &at, &type, &frame, &len, &err)) > 0)
			;
		CHECK_EQ(rc, 0);
	}
	session_reader_free(r);
}

static int down(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* At each end of a block, and at random bytes; the longest first. */
static void cut_anywhere(void)
{
	uint64_t bytes = list_blocks();
	uint64_t *cuts = xmalloc((block_count + CUTS) * sizeof *cuts);
	size_t n = 0;

	for (; n < block_count; n++)
		cuts[n] = blocks[n].end;
	for (int i = 0; i < CUTS; i++)
		cuts[n++] = SESSION_HEAD + (uint64_t)rand() % (bytes - SESSION_HEAD);
	qsort(cuts, n, sizeof *cuts, down);
	for (size_t i = 0; i < n; i++)
		cut_at(cuts[i]);
	free(cuts);
}

static void closed(void)
{
	struct err err = { 0 };

	CHECK_EQ(session_close(file, &err), 0);
	file = NULL;
}

TEST(a_thinned_file_cut_anywhere_reads_to_its_last_whole_block)
{
	struct err err = { 0 };

	start();
	live(1000, 3);
	written();
	thin_now(&err);
	for (int i = 0; i < 300; i++) {
		step(NS / 10, MTW_TICK_COMPLETE);
		if (i % 10 == 0)
			written();
		if (i % 100 == 50)
			key_put(file, now, time_ns);
	}
	closed();
	cut_anywhere();
	CHECK(block_count > 30);
	leave();
}

TEST(a_run_below_a_second_cut_anywhere_too)
{
	start();
	for (int i = 0; i < 9; i++)
		step(NS / 10, MTW_TICK_COMPLETE);
	closed();
	cut_anywhere();
	CHECK(block_count >= 3);
	CHECK_EQ(blocks[block_count - 1].ticks, 9);
	leave();
}
