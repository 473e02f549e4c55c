/* SPDX-License-Identifier: MIT
 *
 * session.c - writes the session file of a made-up program that ran for long (make bench-session).
 *
 * Usage: session FILE [PATHS [CHANGED [SECONDS]]]
 *
 * The program is screen_agent's: PATHS call paths (131,000), of which CHANGED (1,000: 20,000 events
 * a second) change per tick, for SECONDS (600). A mark comes after a third of the time; samples,
 * threads and memory come as an agent sends them. The code lies in files that do not exist, and the
 * session has its names: reading it asks nothing of the machine.
 */
#include "../screen_agent/agent.h"
#include "session/session.h"

#include <stdio.h>
#include <unistd.h>

#define FUNCTIONS 20000u
#define MODULES 8u
#define SIZE 64u /* bytes of a function */
#define CALLS 4u
#define SECOND 1000000000ull
#define SAMPLE_EVERY 20u /* seconds */

static struct session_writer *file;

static void check(int failed, const struct err *err)
{
	if (!failed)
		return;
	fprintf(stderr, "session: %s\n", err->text);
	exit(1);
}

/* What the agent's code put into `out` goes into the file. */
static void save(size_t from)
{
	struct err err;

	for (size_t at = from; at < out.len;) {
		uint64_t type, len;
		int head = mtw_frame(out.bytes + at, out.len - at, MTW_FRAME_MAX, &type, &len);
		check(session_frame(file, 0, now, type, out.bytes + at + head, len, &err), &err);
		at += (size_t)head + len;
	}
	out.len = 0;
}

/* The code, as read_places() takes it. */
static void make_places(void)
{
	char path[] = "/tmp/memtop-bench-places.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	if (!f)
		exit(1);
	for (unsigned m = 0; m < MODULES; m++) {
		fprintf(f, "module /nowhere/lib%u.so %02x%02x%02x%02x\n", m, m, m, m, m);
		for (unsigned i = 0; i < FUNCTIONS / MODULES; i++)
			fprintf(f, "%x %x\n", 0x1000 + i * SIZE, SIZE);
	}
	fclose(f);
	read_places(path);
	unlink(path);
}

static void put_names(void)
{
	for (unsigned m = 0; m < MODULES; m++)
		for (unsigned i = 0; i < FUNCTIONS / MODULES * CALLS; i++) {
			char name[64];
			snprintf(name, sizeof name, "lib%u_function_%u", m, i / CALLS);
			open_frame(MTW_S_SYMBOL);
			put(m);
			put(0x1000 + i / CALLS * SIZE + 4 +
			    (uint64_t)(i % CALLS) * (SIZE - 4) / CALLS);
			put(0);
			put(2);
			put(1);
			put_string(name);
			put_string("made.c");
			put(i);
			put(0);
			close_frame();
		}
}

/* Of each slot that differs from the sample before. */
static void put_sample_live(uint32_t serial)
{
	static uint64_t(*was)[2];
	static uint32_t room;
	uint32_t at = 1, *list = grown(NULL, FRAME_ENTRIES, sizeof *list);

	was = grown(was, slot_count, sizeof *was);
	for (; room < slot_count; room++)
		was[room][0] = was[room][1] = 0;
	do {
		uint32_t n = 0, last = 0;
		for (; at < slot_count && n < FRAME_ENTRIES; at++) {
			uint64_t blocks = slots[at].count[0] - slots[at].count[2];
			if (was[at][0] == blocks && was[at][1] == live_bytes(&slots[at]))
				continue;
			was[at][0] = blocks;
			was[at][1] = live_bytes(&slots[at]);
			list[n++] = at;
		}
		open_frame(MTW_SAMPLE_LIVE);
		put(serial);
		put(at == slot_count);
		put(n);
		for (uint32_t i = 0; i < n; last = list[i++]) {
			put(list[i] - last);
			put(was[list[i]][0]);
			put(was[list[i]][1]);
		}
		close_frame();
	} while (at < slot_count);
	free(list);
}

static void put_samples(uint32_t newest)
{
	static uint64_t list[4096][2];
	uint32_t first = newest > 30 ? newest - 29 : 1;

	list[newest % 4096][0] = now;
	list[newest % 4096][1] = total[1] - total[3];
	open_frame(MTW_SAMPLES);
	put(0);
	put(newest + 1 - first);
	for (uint32_t i = first; i <= newest; i++) {
		put(i == first ? i : 1);
		put(list[i % 4096][0]);
		put(list[i % 4096][1]);
		put(list[i % 4096][1]);
		put(0);
		put(list[i % 4096][1] * 5 / 4);
	}
	close_frame();
	put_sample_live(newest);
}

static void end(void)
{
	scan(0, MTW_KIND_THREADS);
	scan(0, MTW_KIND_MEMORY);
	scan(0, MTW_KIND_COHORTS);
	open_frame(MTW_STATE);
	put(MTW_EXITED);
	put(0);
	put(now);
	put(1);
	close_frame();
	put_totals(slot_count - 1, total[1] - total[3]);
	put_tick(MTW_TICK_COMPLETE | MTW_TICK_FINAL);
}

int main(int argc, char **argv)
{
	uint32_t paths = argc > 2 ? (uint32_t)atoi(argv[2]) : 131000,
		 seconds = argc > 4 ? (uint32_t)atoi(argv[4]) : 600;
	struct err err;

	if (argc < 2)
		return 2;
	changed = argc > 3 ? (uint32_t)atoi(argv[3]) : 1000;
	file = session_create(argv[1], 0, &err);
	check(!file, &err);
	now = SECOND;
	make_places();
	make(paths, 0);
	make_first_state();
	save(MTW_GREETING_LEN);
	put_names();
	for (uint32_t i = 1; i <= seconds * 10; i++) {
		now += TICK_NS;
		if (i == seconds * 10 / 3)
			set_mark();
		if (i % (SAMPLE_EVERY * 10) == 0)
			put_samples(i / (SAMPLE_EVERY * 10));
		tick(0);
		save(0);
		if (i % 10 == 0)
			check(session_flush(file, &err), &err);
	}
	end();
	save(0);
	printf("%u paths, %u nodes, %u slots, %u s: %llu bytes\n", path_count, node_count - 1,
	       slot_count - 1, seconds, (unsigned long long)session_written(file));
	check(session_close(file, &err), &err);
	return 0;
}
