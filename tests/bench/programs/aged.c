/* SPDX-License-Identifier: MIT
 *
 * aged.c - what a recorded session would be after a longer time (make bench-session).
 *
 * Usage: aged FROM TO SECONDS
 *
 * Repeats the ticks of FROM with later times and with counters that go on, as often as it takes,
 * through the writer and the thinning that memtop records with. Samples come as an agent takes them
 * after the first ten minutes. Prints the size after an hour, after all, and the largest in
 * between.
 */
#include "link/thin/thin.h"
#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS 1000000000ull
#define SAMPLES 32u
#define SAMPLE_NS (20 * NS)

struct frame {
	uint64_t time_ns, type;
	uint8_t *bytes;
	size_t len;
};

static struct frame *list;
static size_t count, room, first; /* of the frames that are repeated */
static struct tally *from, *to;   /* of each slot, before the first and after the last one */
static uint64_t slots, begin_ns, length_ns;
static struct session_writer *file;
static struct tally all;                       /* that a round adds */
static struct sample_figures samples[SAMPLES]; /* the list, in the file's times */
static size_t sample_count;
static uint32_t sample_serial;

static void check(int failed, const struct err *err)
{
	if (!failed)
		return;
	fprintf(stderr, "aged: %s\n", err->text);
	exit(1);
}

static int on_event(void *arg, const struct event *e, struct err *err)
{
	(void)arg, (void)err;
	if (e->type == MTW_COUNTS) {
		if (e->u.counts.slot >= slots) {
			uint64_t n = e->u.counts.slot * 2ull + 64;
			from = xrealloc(from, n * sizeof *from);
			to = xrealloc(to, n * sizeof *to);
			memset(from + slots, 0, (n - slots) * sizeof *from);
			memset(to + slots, 0, (n - slots) * sizeof *to);
			slots = n;
		}
		to[e->u.counts.slot] = e->u.counts.now;
		if (!first)
			from[e->u.counts.slot] = e->u.counts.now;
	}
	if (e->type == MTW_TICK && (e->u.tick.flags & MTW_TICK_COMPLETE) && !first) {
		first = count;
		begin_ns = e->u.tick.time_ns;
	}
	if (e->type == MTW_TICK && !(e->u.tick.flags & MTW_TICK_FINAL))
		length_ns = e->u.tick.time_ns - begin_ns;
	return 0;
}

static void load(const char *path)
{
	struct err err = { 0 };
	struct session_reader *r = session_open(path, 0, &err);
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;

	check(!r, &err);
	while (session_next(r, &time_ns, &type, &payload, &len, &err) > 0) {
		GROW(list, room, count + 1);
		list[count] = (struct frame){ time_ns, type, xmalloc(len + 1), len };
		memcpy(list[count++].bytes, payload, len);
		wire_read(type, payload, len, on_event, NULL, &err);
	}
	session_reader_free(r);
}

/* What a round adds to a counter: neither may shrink, and no more be freed than allocated. */
static uint64_t gain(uint64_t a0, uint64_t a1, uint64_t f0, uint64_t f1)
{
	return a1 - a0 > f1 - f0 ? a1 - a0 : f1 - f0;
}

static struct tally gains(uint64_t slot)
{
	const struct tally *a = &from[slot], *b = &to[slot];
	uint64_t blocks = gain(a->alloc_blocks, b->alloc_blocks, a->free_blocks, b->free_blocks),
		 bytes = gain(a->alloc_bytes, b->alloc_bytes, a->free_bytes, b->free_bytes);

	return (struct tally){ blocks, bytes, blocks, bytes };
}

struct again {
	uint64_t round, last;
	struct mtw_out head, body;
	uint64_t entries;
};

static void put_later(struct mtw_out *o, const struct tally *t, const struct tally *by, uint64_t n)
{
	mtw_put(o, t->alloc_blocks + by->alloc_blocks * n);
	mtw_put(o, t->alloc_bytes + by->alloc_bytes * n);
	mtw_put(o, t->free_blocks + by->free_blocks * n);
	mtw_put(o, t->free_bytes + by->free_bytes * n);
}

/* What a sample differs by, of the last recorded one: a new sample each twenty seconds. */
static void put_sample(const struct frame *f, uint64_t round)
{
	static uint8_t bytes[MTW_FRAME_MAX];
	struct mtw_out o = { bytes, bytes + sizeof bytes, false };
	struct mtw_in in = { f->bytes, f->bytes + f->len, false };
	uint64_t at = f->time_ns + round * length_ns, before = 0;
	struct err err = { 0 };

	if (sample_count && at - samples[sample_count - 1].time_ns < SAMPLE_NS)
		return;
	if (sample_count == SAMPLES) /* the oldest ones give way together */
		memmove(samples, samples + 4, (sample_count -= 4) * sizeof *samples);
	uint64_t live = live_bytes(&all) + at / NS;
	samples[sample_count++] =
		(struct sample_figures){ ++sample_serial, at, live, live, 0, live };
	mtw_put(&o, 0);
	mtw_put(&o, sample_count);
	for (size_t i = 0; i < sample_count; before = samples[i++].serial) {
		const uint64_t figures[] = { samples[i].serial - before, samples[i].time_ns,
					     samples[i].live_bytes,      samples[i].low_bytes,
					     samples[i].fall_bytes,      samples[i].rss_bytes };
		for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
			mtw_put(&o, figures[k]);
	}
	check(session_frame(file, 0, at, MTW_SAMPLES, bytes, (size_t)(o.at - bytes), &err), &err);
	o.at = bytes;
	mtw_put(&o, sample_serial);
	mtw_get(&in);
	memcpy(o.at, in.at, (size_t)(in.end - in.at));
	size_t len = (size_t)(o.at - bytes) + (size_t)(in.end - in.at);
	check(session_frame(file, 0, at, MTW_SAMPLE_LIVE, bytes, len, &err), &err);
}

static int on_later(void *arg, const struct event *e, struct err *err)
{
	struct again *x = arg;

	(void)err;
	if (e->type == MTW_TICK) {
		mtw_put(&x->body, e->u.tick.seq);
		mtw_put(&x->body, e->u.tick.time_ns + x->round * length_ns);
		mtw_put(&x->body, e->u.tick.flags & ~MTW_TICK_FINAL);
	} else if (e->type == MTW_TOTALS) {
		const struct totals *t = &e->u.totals;
		const uint64_t rest[] = { t->peak_bytes,       t->peak_error_bytes,
					  t->peak_time_ns,     t->agent_memory_bytes,
					  t->agent_cpu_ns,     t->hook_ns,
					  t->target_cpu_ns,    t->slots_total,
					  t->slots_sent,       t->live_sent_bytes,
					  t->agent_limit_bytes };
		mtw_put(&x->body, t->time_ns + x->round * length_ns);
		put_later(&x->body, &t->sum, &all, x->round);
		for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
			mtw_put(&x->body, rest[i]);
	} else {
		struct tally by = gains(e->u.counts.slot);
		mtw_put(&x->body, e->u.counts.slot - x->last);
		put_later(&x->body, &e->u.counts.now, &by, x->round);
		x->last = e->u.counts.slot;
		x->entries++;
	}
	return 0;
}

/* Frames that hold for their time, and figures; no new marks, names or paths. */
static bool recurs(uint64_t type)
{
	return type == MTW_COUNTS || type == MTW_TOTALS || type == MTW_TICK ||
	       type == MTW_SAMPLE_LIVE || type == MTW_PROCESS || type == MTW_STACKS ||
	       type == MTW_MEMORY || type == MTW_THREAD ||
	       (type >= MTW_SCAN_THREADS && type <= MTW_SCAN_AGES) || type == MTW_SCAN_MEMORY ||
	       type == MTW_SCAN_COHORTS;
}

static void put(const struct frame *f, uint64_t round)
{
	static uint8_t entries[MTW_FRAME_MAX], whole[MTW_FRAME_MAX];
	struct again x = { .round = round,
			   .head = { whole, whole + sizeof whole, false },
			   .body = { entries, entries + sizeof entries, false } };
	struct err err = { 0 };
	uint64_t at = f->time_ns + round * length_ns;

	if (f->type == MTW_SAMPLES)
		return;
	if (f->type == MTW_SAMPLE_LIVE) {
		put_sample(f, round);
		return;
	}
	if (f->type == MTW_SCAN_MEMORY) { /* v request id, v time_ns, ... */
		struct mtw_in in = { f->bytes, f->bytes + f->len, false };
		mtw_put(&x.head, mtw_get(&in));
		mtw_put(&x.head, mtw_get(&in) + round * length_ns);
		size_t rest = (size_t)(in.end - in.at), head = (size_t)(x.head.at - whole);
		memcpy(x.head.at, in.at, rest);
		check(session_frame(file, 0, at, f->type, whole, head + rest, &err), &err);
		return;
	}
	if (f->type != MTW_COUNTS && f->type != MTW_TOTALS && f->type != MTW_TICK) {
		check(session_frame(file, 0, at, f->type, f->bytes, f->len, &err), &err);
		return;
	}
	wire_read(f->type, f->bytes, f->len, on_later, &x, &err);
	if (f->type == MTW_COUNTS)
		mtw_put(&x.head, x.entries);
	size_t len = (size_t)(x.body.at - entries);
	memcpy(x.head.at, entries, len);
	check(session_frame(file, 0, at, f->type, whole, len + (size_t)(x.head.at - whole), &err),
	      &err);
}

/* Once in a second of the session; here the thread is awaited. */
static void on_second(void)
{
	struct err err = { 0 };

	session_flush(file, &err);
	do {
		check(session_thin(file, thin_file, &err), &err);
	} while (session_thins(file) && !usleep(1000));
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	uint64_t end_ns, next_ns = NS, told_ns = 3600 * NS, most = 0;

	if (argc < 4)
		return 2;
	load(argv[1]);
	end_ns = strtoull(argv[3], NULL, 10) * NS;
	for (uint64_t s = 0; s < slots; s++) {
		struct tally by = gains(s);
		all.alloc_blocks += by.alloc_blocks, all.alloc_bytes += by.alloc_bytes;
		all.free_blocks += by.free_blocks, all.free_bytes += by.free_bytes;
	}
	file = session_create(argv[2], 0, &err);
	check(!file || !length_ns, &err);
	for (uint64_t round = 0, at = 0; at < end_ns; round++)
		for (size_t i = round ? first : 0; i < count && at < end_ns; i++) {
			if (list[i].type >= MTW_CLIENT && round)
				continue;
			if (round && !recurs(list[i].type))
				continue;
			put(&list[i], round);
			at = list[i].time_ns + round * length_ns;
			if (list[i].type != MTW_TICK || at < next_ns)
				continue;
			next_ns = at + NS;
			on_second();
			most = session_written(file) > most ? session_written(file) : most;
			if (at < told_ns)
				continue;
			printf("%.2f MB after %.0f h, ", (double)session_written(file) / 1e6,
			       (double)told_ns / 3600e9);
			told_ns *= 24;
		}
	printf("%.2f MB after %.0f h, at most %.2f MB\n", (double)session_written(file) / 1e6,
	       (double)end_ns / 3600e9, (double)most / 1e6);
	check(session_close(file, &err), &err);
	return 0;
}
