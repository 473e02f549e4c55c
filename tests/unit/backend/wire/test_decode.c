/* SPDX-License-Identifier: MIT
 *
 * test_decode.c - payloads by hand: fields come out as they went in, and each bound of wire.h
 * holds. Cut-off frames of every type are test_decode.c's and the fuzzer's.
 */
#include "check.h"
#include "wire/decode.h"

static struct event seen[8];
static size_t seen_count;

static int keep(void *arg, const struct event *e, struct err *err)
{
	(void)arg;
	(void)err;
	if (seen_count < sizeof seen / sizeof seen[0])
		seen[seen_count] = *e;
	seen_count++;
	return 0;
}

static int refuse(void *arg, const struct event *e, struct err *err)
{
	(void)e;
	++*(int *)arg;
	return err_set(err, 3, "refused");
}

static uint8_t buffer[1 << 16];
static struct mtw_out out;

static void begin(void)
{
	out = (struct mtw_out){ buffer, buffer + sizeof buffer, false };
}

static void put(uint64_t v)
{
	mtw_put(&out, v);
}

static int read_it(uint64_t type)
{
	struct err err = { 0 };
	/* Exactly as long as the payload, so that a sanitizer sees a read past it. */
	size_t len = (size_t)(out.at - buffer);
	uint8_t *copy = xmalloc(len);

	memcpy(copy, buffer, len);
	seen_count = 0;
	int rc = wire_read(type, copy, len, keep, NULL, &err);
	free(copy);
	CHECK(rc == 0 || err.text[0]);
	return rc;
}

/* One payload of plain numbers. */
static int numbers(uint64_t type, size_t n, const uint64_t *v)
{
	begin();
	for (size_t i = 0; i < n; i++)
		put(v[i]);
	return read_it(type);
}

#define READ(type, ...)                                                                            \
	numbers(type, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t),                      \
		(uint64_t[]){ __VA_ARGS__ })

TEST(batches_give_an_event_per_entry)
{
	CHECK_EQ(READ(MTW_NODES, 3, 5, MTW_NODE_CODE, 0, 2, 0x1234, 1, MTW_NODE_NOWHERE, 5, 0xffff,
		      1, MTW_NODE_TRUNCATED, 0, MTW_TRUNC_DEPTH),
		 0);
	CHECK_EQ(seen_count, 3);
	CHECK_EQ(seen[0].u.node.id, 5);
	CHECK_EQ(seen[0].u.node.module, 2);
	CHECK_EQ(seen[0].u.node.offset, 0x1234);
	CHECK_EQ(seen[1].u.node.id, 6);
	CHECK_EQ(seen[1].u.node.module, NO_ID);
	CHECK_EQ(seen[1].u.node.parent, 5);
	CHECK_EQ(seen[2].u.node.id, 7);
	CHECK_EQ(seen[2].u.node.kind, MTW_NODE_TRUNCATED);
	CHECK_EQ(READ(MTW_COUNTS, 2, 7, 1, 2, 3, 4, 2, 10, 20, 5, UINT64_MAX), 0);
	CHECK_EQ(seen[1].u.counts.slot, 9);
	CHECK_EQ(seen[1].u.counts.now.free_bytes, UINT64_MAX);
	CHECK_EQ(READ(MTW_MARK_LIVE, 3, 1, 1, 8, 2, 64), 0);
	CHECK_EQ(seen_count, 2); /* the cell, then the end */
	CHECK_EQ(seen[0].u.mark_live.bytes, 64);
	CHECK(seen[1].u.mark_live.end);
}

#define HELLO 1, 0, 7, 0, 5, 0, 0, 64, 0, 0, 0, 0, 0

TEST(a_greeting_tells_of_the_fork_or_nothing_of_it)
{
	CHECK_EQ(READ(MTW_HELLO, HELLO), 0); /* an older agent's */
	CHECK_EQ(seen[0].u.hello.pid, 7);
	CHECK(!seen[0].u.hello.forked);
	CHECK_EQ(seen[0].u.hello.before.alloc_bytes, 0);
	CHECK_EQ(READ(MTW_HELLO, HELLO, 1, 9, 900, 4, 400), 0);
	CHECK(seen[0].u.hello.forked);
	CHECK_EQ(seen[0].u.hello.before.alloc_blocks, 9);
	CHECK_EQ(seen[0].u.hello.before.alloc_bytes, 900);
	CHECK_EQ(seen[0].u.hello.before.free_blocks, 4);
	CHECK_EQ(seen[0].u.hello.before.free_bytes, 400);
	CHECK(!seen[0].u.hello.inherits_apart); /* an older agent's fork mixes them */
	CHECK_EQ(seen[0].u.hello.first_epoch, 0);
	CHECK_EQ(READ(MTW_HELLO, HELLO, 1, 9, 900, 4, 400, 3), 0);
	CHECK(seen[0].u.hello.inherits_apart);
	CHECK_EQ(seen[0].u.hello.first_epoch, 3);
	CHECK_EQ(READ(MTW_HELLO, HELLO, 0), 0); /* one that was executed inherits nothing */
	CHECK(seen[0].u.hello.inherits_apart);
	CHECK_EQ(seen[0].u.hello.first_epoch, 0);
	CHECK_EQ(READ(MTW_HELLO, HELLO, 1, 9, 900, 4, 400, 3, 77), 0); /* a later agent's */
	CHECK_EQ(READ(MTW_HELLO, HELLO, 1, 9, 900, 4), -1);
	CHECK_EQ(READ(MTW_HELLO, HELLO, 0, 0, 0, 0, 0, 1, 2, 3), 0); /* a later agent's */
}

TEST(ids_and_counts_are_bounded)
{
	CHECK_EQ(READ(MTW_NODES, 1, MTW_NODES_MAX - 1, 0, 0, 0, 0), 0);
	CHECK_EQ(READ(MTW_NODES, 1, MTW_NODES_MAX, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_NODES, 1, 0, 0, 0, 0, 0), -1); /* the root is never sent */
	CHECK_EQ(READ(MTW_NODES, 1, 1, 4, 0, 0, 0), -1); /* no such kind */
	CHECK_EQ(READ(MTW_NODES, 1, 1, 3, 1, 1), -1);    /* a truncation below the root */
	CHECK_EQ(READ(MTW_NODES, 1, 1, 3, 0, MTW_TRUNC_COUNT), -1);
	CHECK_EQ(READ(MTW_NODES, 1, 1, 0, 0, MTW_MODULES_MAX, 0), -1);
	/* a count that the payload cannot hold */
	CHECK_EQ(READ(MTW_NODES, UINT64_MAX, 1, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_NODES, 2, 1, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_SLOTS, 1, MTW_SLOTS_MAX - 1, 0, 0), 0);
	CHECK_EQ(READ(MTW_SLOTS, 1, MTW_SLOTS_MAX, 0, 0), -1);
	CHECK_EQ(READ(MTW_SLOTS, 2, 5, 0, 0, UINT64_MAX - 4, 0, 0), -1); /* 5 - 5 = 0 */
	CHECK_EQ(READ(MTW_MARK_LIVE, 0, 1, 0), -1);
	CHECK_EQ(READ(MTW_MARK_LIVE, MTW_MARKS_MAX, 1, 0), -1);
	CHECK_EQ(READ(MTW_FILTER, FILTERS_MAX, 0, 0, 0, 0, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_FILTER, FILTERS_MAX - 1, 0, 0, 0, 0, 0, 0, 0, 0), 0);
	CHECK_EQ(READ(MTW_WEIGHED, 1, MTW_SLOTS_MAX, 1), -1);
	CHECK_EQ(READ(MTW_WEIGHED, 1, 5, 0), -1); /* every block: not weighed */
	CHECK_EQ(READ(MTW_PROVEN, 1, MTW_NODES_MAX, 1), -1);
	CHECK_EQ(READ(MTW_PROVEN, 1, 0, 1), -1); /* the root has no caller */
	CHECK_EQ(READ(MTW_PROVEN, 1, 5, 0), -1); /* in no way: not proven */
	CHECK_EQ(READ(MTW_PROVEN, UINT64_MAX, 5, 1), -1);
	CHECK_EQ(READ(MTW_SCAN_THREADS, 1, 1, MTW_THREADS_MAX, 0, 0), -1);
	CHECK_EQ(READ(MTW_SCAN_AGES, 1, 2, 3, UINT64_MAX, 0, 0), -1);
	CHECK_EQ(READ(MTW_SCAN_MEMORY, 1, 2, UINT64_MAX, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_SCAN_MEMORY, 1, 2, 1, 0, 5, 0, 0), -1); /* a name past the end */
	CHECK_EQ(READ(MTW_SCAN_COHORTS, 1, 3, 2, 0, 0, UINT64_MAX, 0, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_SCAN_COHORTS, 1, 3, 2, 0, 0, 1, MTW_SLOTS_MAX, 0, 0, 0, 0), -1);
	CHECK_EQ(READ(MTW_SCAN_COHORTS, 1, 3, 2, 0, 0, 1, 1, MTW_THREADS_MAX, 0, 0, 0), -1);
	/* a viewer's word, never an agent's */
	CHECK_EQ(READ(MTW_STATE, MTW_LINK_LOST, 0, 0, 1), -1);
	CHECK_EQ(READ(MTW_S_EXIT, MTW_CUT, 0), 0);
	CHECK_EQ(READ(MTW_LOSS, MTW_LOSS_COUNT, 1, 1), 0); /* of a later agent */
	CHECK_EQ(seen_count, 0);
	CHECK_EQ(READ(1000, 1, 2, 3), 0); /* unknown frames are skipped */
	CHECK_EQ(seen_count, 0);
}

TEST(parts_of_memory_are_bounded)
{
	for (uint64_t n = MTW_PARTS_MAX; n <= MTW_PARTS_MAX + 1; n++) {
		begin();
		put(n);
		for (uint64_t i = 0; i < 2 * n; i++) /* names of no bytes, and none of memory */
			put(0);
		CHECK_EQ(read_it(MTW_MEMORY), n > MTW_PARTS_MAX ? -1 : 0);
	}
}

TEST(varints_end_within_ten_bytes)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
		int rc;
	} rows[] = {
		{ { 1, 2, 0x80, 0x80, 0 }, 5, 0 }, /* not the shortest form */
		{ { 1, 2, 0x80 }, 3, -1 },         /* ends within */
		{ { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0 }, 12, 0 },
		/* 65 bits */
		{ { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0 }, 12, -1 },
		/* 11 bytes */
		{ { 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 }, 12, -1 },
		{ { 1, 2, 3, 4, 5 }, 5, 0 }, /* a later version appended */
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		begin();
		memcpy(buffer, rows[i].bytes, rows[i].len);
		out.at = buffer + rows[i].len;
		CHECK_EQ(read_it(MTW_TICK), rows[i].rc);
		CHECK_EQ(seen_count, rows[i].rc == 0);
	}
}

static int notice(const void *bytes, size_t len)
{
	begin();
	mtw_put_bytes(&out, bytes, len);
	return read_it(MTW_NOTICE);
}

TEST(texts_end_at_their_longest)
{
	static char text[MTW_STRING_MAX + 1];

	memset(text, 'x', sizeof text);
	CHECK_EQ(notice("", 0), 0);
	CHECK_EQ(notice(text, MTW_STRING_MAX), 0);
	CHECK_EQ(seen[0].u.notice.len, MTW_STRING_MAX);
	CHECK_EQ(notice(text, MTW_STRING_MAX + 1), -1);
	CHECK_EQ(notice("a\0b", 3), -1);
	CHECK_EQ(notice("\xff\x1b[2J", 5), 0); /* any other byte; whoever shows it cleans it */
	begin();
	put(100); /* longer than what follows */
	CHECK_EQ(read_it(MTW_NOTICE), -1);
	begin();
	mtw_put_bytes(&out, text, MTW_NAME_MAX + 1);
	mtw_put_string(&out, "v");
	mtw_put_string(&out, "");
	CHECK_EQ(read_it(MTW_OPTION), -1);
}

TEST(module_and_history)
{
	begin();
	for (uint64_t v = 1; v <= 7; v++)
		put(v);
	mtw_put_bytes(&out, "\0\1\2", 3); /* build-ids are bytes */
	mtw_put_string(&out, "/lib/x.so");
	CHECK_EQ(read_it(MTW_MODULE), 0);
	CHECK_EQ(seen[0].u.module.id, 1);
	CHECK_EQ(seen[0].u.module.bias, 3);
	CHECK_EQ(seen[0].u.module.build_id.len, 3);
	CHECK_EQ(READ(MTW_MODULE, 1, 0, 0, 9, 8, 0, 0, 0, 0), -1); /* ends before it starts */
	CHECK_EQ(READ(MTW_HISTORY, 1000, 2, 4, 5, 2, 1, 2, 3, 4, 5, 6, 7, 80, 81, 2, 2, 3, 4, 5, 6,
		      7, 90, 91),
		 0);
	CHECK_EQ(seen_count, 2);
	CHECK(seen[0].u.history.first && !seen[1].u.history.first);
	CHECK_EQ(seen[1].u.history.owners[1], 5);
	CHECK_EQ(seen[1].u.history.owner_bytes[1], 91);
	CHECK_EQ(READ(MTW_HISTORY, 1000, MTW_HISTORY_OWNERS_MAX + 1), -1);
}

TEST(a_refusal_ends_the_frame)
{
	struct err err = { 0 };
	int calls = 0;

	begin();
	put(2);
	for (int i = 0; i < 2; i++) {
		put(1);
		put(0);
		put(0);
	}
	CHECK_EQ(wire_read(MTW_SLOTS, buffer, (size_t)(out.at - buffer), refuse, &calls, &err), -1);
	CHECK_EQ(calls, 1);
	CHECK_STR(err.text, "refused");
	CHECK_EQ(wire_read(MTW_NOTICE, buffer, MTW_FRAME_MAX + 1u, refuse, &calls, &err), -1);
	CHECK_EQ(calls, 1);
}
