/* SPDX-License-Identifier: MIT
 *
 * test_day.c - a made day of a busy program in a live view: ten ticks a second go into the model
 * and into the spool, which thins out as it grows. Both stay small. What the marks' instants, the
 * samples and the peak say is what they said then.
 */
#include "check.h"
#include "frames.h"
#include "key.h"
#include "base/loop.h"
#include "link/replay.h"
#include "link/thin/thin.h"
#include "session/spool.h"

#include <malloc.h>
#include <time.h>

#define NS 1000000000ull
#define TICK (NS / 10)
#define DAY 864000u /* ticks */
#define SLOTS 60u
#define CHANGES 6u /* of slots, in a tick */
#define MARKS 5u
#define SAMPLES 32u

/* The bounds. A session is thinned at 8 MiB, and a second may come before that is noticed. */
#define DISK_MAX ((8u << 20) + (64u << 10))
#define DISK_THINNED (3u << 20) /* what thinning leaves of a day */
#define MEMORY_MAX (8u << 20)   /* all that the process holds */
#define INSTANTS 65536u

static struct session_writer *file;
static struct model *now;
static char path[4096];
static uint64_t ticks, most_disk, most_memory, thinned, least_left = UINT64_MAX;
static struct tally at[SLOTS + 1], at_peak[SLOTS + 1];
static uint64_t at_sample[SLOTS + 1], peak, peak_ns;
static uint32_t first_sample = 1, samples, peaks;
static uint64_t sampled_ns[1000], sampled_bytes[1000];

static uint64_t time_ns(void)
{
	return ticks * TICK;
}

static int apply(void *arg, const struct event *e, struct err *err)
{
	return model_apply(arg, e, err);
}

static void sent(unsigned type, const uint8_t *bytes, size_t len)
{
	struct err err = { 0 };

	CHECK_EQ(session_frame(file, 0, time_ns(), type, bytes, len, &err), 0);
	CHECK_EQ(wire_read(type, bytes, len, apply, now, &err), 0);
}

static uint64_t live(const struct tally *t)
{
	return t->alloc_bytes - t->free_bytes;
}

static void put_tally(const struct tally *t)
{
	PUT(t->alloc_blocks, t->alloc_bytes, t->free_blocks, t->free_bytes);
}

static struct tally sum(void)
{
	struct tally all = { 0 };

	for (uint32_t s = 1; s <= SLOTS; s++)
		tally_add(&all, &at[s]);
	return all;
}

/* The agent's: the oldest four give way together, and say no more than what differs. */
static void put_sample(const struct tally *all)
{
	uint64_t changed = 0, last = 0;

	if (samples - first_sample + 1 == SAMPLES)
		first_sample += 4;
	samples++;
	sampled_ns[samples % 1000] = time_ns();
	sampled_bytes[samples % 1000] = live(all);
	begin();
	PUT(0, samples - first_sample + 1);
	for (uint32_t n = first_sample, before = 0; n <= samples; before = n++)
		PUT(n - before, sampled_ns[n % 1000], sampled_bytes[n % 1000],
		    sampled_bytes[n % 1000], 0, 9000);
	end(MTW_SAMPLES);
	for (uint32_t s = 1; s <= SLOTS; s++)
		changed += live(&at[s]) != at_sample[s];
	begin();
	PUT(samples, 1, changed);
	for (uint32_t s = 1; s <= SLOTS; s++) {
		if (live(&at[s]) == at_sample[s])
			continue;
		PUT(s - last, at[s].alloc_blocks - at[s].free_blocks, live(&at[s]));
		at_sample[s] = live(&at[s]);
		last = s;
	}
	end(MTW_SAMPLE_LIVE);
}

static void put_peak(const struct tally *all)
{
	uint64_t changed = 0, last = 0;

	for (uint32_t s = 1; s <= SLOTS; s++)
		changed += memcmp(&at[s], &at_peak[s], sizeof at[s]) != 0;
	begin();
	PUT(++peaks, MTW_PART_FIRST | MTW_PART_LAST, time_ns());
	put_tally(all);
	PUT(changed);
	for (uint32_t s = 1; s <= SLOTS; s++) {
		if (!memcmp(&at[s], &at_peak[s], sizeof at[s]))
			continue;
		PUT(s - last);
		put_tally(&at[s]);
		at_peak[s] = at[s];
		last = s;
	}
	end(MTW_PEAK);
	peak = live(all);
	peak_ns = time_ns();
}

/* The heap grows slowly, and goes up and down. */
static void change(uint32_t s)
{
	at[s].alloc_blocks += 2;
	at[s].alloc_bytes += 100 + s;
	if (rand() % 2 && ticks % 3000 < 1500)
		return;
	uint64_t blocks = at[s].alloc_blocks - at[s].free_blocks, bytes = live(&at[s]);
	at[s].free_blocks += blocks / 3;
	at[s].free_bytes += blocks / 3 ? bytes / 3 : 0;
}

static void step(void)
{
	uint64_t last = 0;

	ticks++;
	uint32_t from = 1 + (uint32_t)rand() % (SLOTS - CHANGES);
	begin();
	PUT(CHANGES);
	for (uint32_t s = from; s < from + CHANGES; s++) {
		change(s);
		PUT(s - last);
		put_tally(&at[s]);
		last = s;
	}
	struct tally all = sum();
	end(MTW_COUNTS);
	if (ticks % 200 == 0)
		put_sample(&all);
	if (ticks % 10 == 0 && live(&all) > peak + peak / 100)
		put_peak(&all);
	begin();
	PUT(time_ns());
	put_tally(&all);
	PUT(peak, 0, peak_ns, 0, 0, 0, 0, SLOTS, SLOTS, live(&all), 0);
	end(MTW_TOTALS);
	NUMBERS(MTW_TICK, ticks, time_ns(), MTW_TICK_COMPLETE);
}

struct dump {
	uint8_t *bytes;
	size_t len, room;
};

static int collect(void *arg, uint64_t type, const uint8_t *bytes, size_t len)
{
	struct dump *d = arg;

	if (type != MTW_COUNTS && type != MTW_SAMPLES && type != MTW_SAMPLE_LIVE &&
	    type != MTW_PEAK && type != MTW_TOTALS)
		return 0;
	GROW(d->bytes, d->room, d->len + len + 1);
	d->bytes[d->len++] = (uint8_t)type;
	memcpy(d->bytes + d->len, bytes, len);
	d->len += len;
	return 0;
}

static void same(const struct model *m, const struct dump *want)
{
	struct dump d = { 0 };

	CHECK(model_dumps(m));
	model_dump(m, collect, &d);
	CHECK_EQ(d.len, want->len);
	CHECK(!memcmp(d.bytes, want->bytes, d.len));
	free(d.bytes);
}

static struct {
	uint64_t ticks;
	struct dump dump;
} marked[MARKS + 1];

static void mark(uint32_t id)
{
	struct tally all = sum();

	marked[id].ticks = ticks;
	model_dump(now, collect, &marked[id].dump);
	begin();
	PUT(id, 0, MTW_MARK_TOTALS_ONLY, time_ns() + TICK / 2);
	mtw_put_string(&out, "");
	mtw_put_string(&out, "test");
	put_tally(&all);
	PUT(0);
	end(MTW_MARK);
}

static void measure(void)
{
	struct mallinfo2 used = mallinfo2();
	uint64_t memory = used.uordblks + used.hblkhd;

	most_memory = memory > most_memory ? memory : most_memory;
	most_disk = session_written(file) > most_disk ? session_written(file) : most_disk;
}

static void on_second(void)
{
	static const struct timespec wait = { 0, 1000000 };
	static unsigned times;
	struct err err = { 0 };
	const uint64_t *list;

	CHECK_EQ(session_flush(file, &err), 0);
	key_put(file, now, time_ns());
	measure();
	do {
		CHECK_EQ(session_thin(file, thin_file, &err), 0);
	} while (session_thins(file) && !nanosleep(&wait, NULL));
	unsigned before = times;
	size_t n = session_thinned(file, 0, &times, &list);
	if (n)
		model_keep_instants(now, list, n);
	if (times == before)
		return;
	thinned++;
	least_left = session_written(file) < least_left ? session_written(file) : least_left;
	CHECK(session_written(file) <= DISK_THINNED);
}

static void start(void)
{
	struct err err = { 0 };

	srand(11);
	setenv("XDG_STATE_HOME", "/tmp", 1);
	file = spool_create("made", (unsigned)getpid(), SPOOL_KEEP, path, sizeof path, &err);
	CHECK(file != NULL);
	now = model_new();
	hello_frame(100, 5);
	module_frame();
	for (uint32_t s = 1; s <= SLOTS; s++) {
		NUMBERS(MTW_NODES, 1, s, MTW_NODE_CODE, s - 1, 1, 16 * s);
		NUMBERS(MTW_SLOTS, 1, s, s, 0);
	}
}

/* Who reads it from its start, tick by tick, sees at a mark what there was. */
static void read_through(struct model *m)
{
	struct err err = { 0 };
	struct session_reader *r = session_open(path, 0, &err);
	const uint8_t *bytes;
	uint64_t at_ns, type;
	size_t len, met = 0;

	CHECK(r != NULL);
	while (session_next(r, &at_ns, &type, &bytes, &len, &err) > 0) {
		CHECK_EQ(wire_read(type, bytes, len, apply, m, &err), 0);
		if (type == MTW_TICK && met < MARKS && model_ticks_read(m) == marked[met + 1].ticks)
			same(m, &marked[++met].dump);
	}
	CHECK_EQ(met, MARKS);
	CHECK(model_check(m, &err));
	session_reader_free(r);
}

static bool arrived;

static void on_moved(void *arg)
{
	(void)arg;
	arrived = true;
}

static void travel(void)
{
	struct err err = { 0 };
	struct loop *loop = loop_new(NULL);
	struct model *shown = now;
	struct replay *past = replay_new(loop, shown, on_moved, NULL);

	for (uint32_t i = 1; i <= MARKS; i++) {
		uint32_t id = i * 2 % MARKS + 1; /* there and back */
		arrived = false;
		CHECK_EQ(replay_go(past, path, 0, file, marked[id].ticks * TICK, false, &err), 0);
		while (!arrived)
			CHECK(loop_once(loop, 20000));
		CHECK_EQ(model_time(shown), marked[id].ticks * TICK);
		same(shown, &marked[id].dump);
	}
	replay_free(past);
	loop_free(loop);
}

TEST(a_day_stays_small_and_what_is_exact_stays_exact)
{
	struct err err = { 0 };
	const struct instant *list;
	struct dump all = { 0 };

	start();
	while (ticks < DAY) {
		step();
		if (ticks % 10 == 0)
			on_second();
		if (ticks % (DAY / (MARKS + 1)) == 77 && ticks > 77)
			mark((uint32_t)(ticks / (DAY / (MARKS + 1))));
	}
	printf("  %.1f MB on disk at most, %.2f MB when thinned, %.2f MB in memory, %zu instants\n",
	       (double)most_disk / 1e6, (double)least_left / 1e6, (double)most_memory / 1e6,
	       model_instants(now, &list));
	CHECK(thinned > 2);
	CHECK(most_disk <= DISK_MAX);
	CHECK(most_memory <= MEMORY_MAX);
	CHECK(model_instants(now, &list) <= INSTANTS);
	session_flush(file, &err);
	travel();
	model_dump(now, collect, &all);
	struct model *m = model_new();
	read_through(m);
	same(m, &all);
	model_free(m);
	CHECK_EQ(session_close(file, &err), 0);
	model_free(now);
	unlink(path);
}
