/* SPDX-License-Identifier: MIT
 *
 * peaks.c - see check/judging.h. The agent keeps the counters at the peak of the whole heap. The
 * peak of a part is the largest sum at any recorded tick, or at that peak; between two ticks
 *
 *   sum(t) <= sum(before) + what the part allocated between both
 *
 * That is a fold over the session's frames: a column of counters by slot, and a sum for each part,
 * to which each changed slot of a covered stack adds its change. No model plays the session.
 */
#include "check/judging.h"

#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>

struct fold {
	const struct model *last;  /* the state at the session's end */
	const struct slots *slots; /* of the report */
	struct tally *now;         /* by arrival of slots */
	struct part_peak *parts;
	struct tally *sums, *before; /* of each part: now, and at the tick before */
	size_t count;
	bool counts;             /* this is the program of the last state */
	bool complete, resuming; /* its state has been whole; it comes again, after a reconnect */
};

/* Before the last program came another one, of an exec. */
static void take_hello(struct fold *f, const struct event *e)
{
	const struct program *p = model_program(f->last);

	f->resuming = f->counts && f->complete;
	f->counts = p->pid == e->u.hello.pid && p->start_unix_ns == e->u.hello.start_unix_ns;
}

static int take_counts(struct fold *f, const struct event *e, struct err *err)
{
	uint32_t slot = slots_find(f->slots, e->u.counts.slot);
	const struct tally *now = &e->u.counts.now;

	if (slot == NO_ID)
		return err_set(err, 3, "slot %u is of no stack", e->u.counts.slot);
	struct tally grown = tally_sub(now, &f->now[slot]);
	f->now[slot] = *now;
	for (size_t i = 0; i < f->count; i++)
		if (f->parts[i].covered && f->parts[i].covered[f->slots->stack[slot]])
			tally_add(&f->sums[i], &grown); /* modulo 2^64 */
	return 0;
}

/* After a reconnect the state is whole again at once. */
static void take_tick(struct fold *f, uint32_t flags)
{
	if (f->resuming && !(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	f->complete = (f->complete && !f->resuming) || (flags & MTW_TICK_COMPLETE);
	f->resuming = false;
	for (size_t i = 0; i < f->count; i++) {
		struct part_peak *part = &f->parts[i];
		uint64_t held = live_bytes(&f->sums[i]), most = live_bytes(&f->before[i]) +
								f->sums[i].alloc_bytes -
								f->before[i].alloc_bytes;

		part->bytes = held > part->bytes ? held : part->bytes;
		part->most = most > part->most ? most : part->most;
		f->before[i] = f->sums[i];
	}
}

static int on_event(void *arg, const struct event *e, struct err *err)
{
	struct fold *f = arg;

	if (e->type == MTW_HELLO)
		take_hello(f, e);
	else if (f->counts && e->type == MTW_COUNTS)
		return take_counts(f, e, err);
	else if (f->counts && e->type == MTW_TICK)
		take_tick(f, e->u.tick.flags);
	return 0;
}

struct live *peaks_of_stacks(const struct report *r)
{
	if (!model_peak(r->model))
		return NULL;
	struct live *held = xcalloc(r->heap->sums->stacks + 1ul, sizeof *held);
	struct peak_at at = { 0 };
	struct peak_cell cell;
	while (peak_next(&r->columns->peak, &at, &cell)) {
		uint32_t stack = r->columns->slots->stack[cell.slot];

		held[stack].blocks += live_blocks(&cell.then);
		held[stack].bytes += live_bytes(&cell.then);
	}
	return held;
}

/* It may lie between two ticks. No part holds more than the whole. */
static void finish(const struct report *r, const struct live *at_peak, struct part_peak *part)
{
	const struct totals *t = model_totals(r->model);
	uint64_t whole = t->peak_bytes + t->peak_error_bytes, sum = 0;

	for (uint32_t k = 0; at_peak && k < r->heap->sums->stacks; k++)
		sum += part->covered && part->covered[k] ? at_peak[k].bytes : 0;
	part->bytes = sum > part->bytes ? sum : part->bytes;
	part->most = part->most < whole ? part->most : whole;
	part->most = part->most > part->bytes ? part->most : part->bytes;
}

/* To the frame at which the caller's reading of it ended, too. */
static int read_all(struct fold *f, const struct target *t, struct err *err)
{
	struct session_reader *r = session_open(t->name, t->stream, err);
	struct err end = { 0 };
	const uint8_t *payload;
	uint64_t type, ns;
	size_t len;

	if (!r)
		return -1;
	while (session_next(r, &ns, &type, &payload, &len, &end) > 0)
		if (wire_read(type, payload, len, on_event, f, &end))
			break;
	session_reader_free(r);
	return 0;
}

int peaks_find(const struct target *t, const struct report *last, struct part_peak *parts,
	       size_t count, struct err *err)
{
	struct fold f = {
		.last = last->model,
		.slots = last->columns->slots,
		.parts = parts,
		.count = count,
	};
	struct live *at_peak = peaks_of_stacks(last);

	f.now = xcalloc(f.slots->count + 1ul, sizeof *f.now);
	f.sums = xcalloc(2 * count + 1, sizeof *f.sums);
	f.before = f.sums + count;
	int rc = read_all(&f, t, err);
	for (size_t i = 0; i < count; i++)
		finish(last, at_peak, &parts[i]);
	free(at_peak);
	free(f.now);
	free(f.sums);
	return rc;
}
