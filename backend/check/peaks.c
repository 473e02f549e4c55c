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
	const struct model *last; /* the state at the session's end */
	uint32_t ids;             /* of its slots */
	const uint32_t *stack;    /* by id: of the report; NO_ID = no slot has it */
	struct tally *now;        /* by id */
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
	uint32_t id = e->u.counts.slot;
	const struct tally *now = &e->u.counts.now;

	if (id >= f->ids || f->stack[id] == NO_ID)
		return err_set(err, 3, "slot %u is of no stack", id);
	struct tally grown = tally_sub(now, &f->now[id]);
	f->now[id] = *now;
	for (size_t i = 0; i < f->count; i++)
		if (f->parts[i].covered && f->parts[i].covered[f->stack[id]])
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

/* By id of a slot: its stack in the report's call tree. Slots arrived in the model's order. */
static uint32_t *stacks_of_ids(const struct report *r)
{
	const struct columns *c = r->columns;
	uint32_t ids = model_slot_count(r->model);
	uint32_t *of_place = xmalloc((c->slots + 1ul) * sizeof *of_place);
	uint32_t *of_id = xmalloc((ids + 1ul) * sizeof *of_id);

	memset(of_id, 0xff, ids * sizeof *of_id); /* NO_ID */
	for (uint32_t k = 0; k < c->skeleton->stacks; k++)
		for (uint32_t i = c->first[k]; i < c->first[k + 1]; i++)
			of_place[i] = k;
	for (uint32_t i = 0; i < c->slots; i++)
		of_id[model_dense_slot(r->model, i)->id] = of_place[c->place_of[i]];
	free(of_place);
	return of_id;
}

struct live *peaks_of_stacks(const struct report *r)
{
	if (!model_peak(r->model))
		return NULL;
	struct live *held = xcalloc(r->heap->sums->stacks + 1ul, sizeof *held);
	uint32_t *stack = stacks_of_ids(r);
	for (uint32_t id = 0; id < model_slot_count(r->model); id++) {
		struct tally then = model_peak_of_slot(r->model, id);

		if (stack[id] == NO_ID)
			continue;
		held[stack[id]].blocks += live_blocks(&then);
		held[stack[id]].bytes += live_bytes(&then);
	}
	free(stack);
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
		.ids = model_slot_count(last->model),
		.parts = parts,
		.count = count,
	};
	uint32_t *stack = stacks_of_ids(last);
	struct live *at_peak = peaks_of_stacks(last);

	f.stack = stack;
	f.now = xcalloc(f.ids + 1ul, sizeof *f.now);
	f.sums = xcalloc(2 * count + 1, sizeof *f.sums);
	f.before = f.sums + count;
	int rc = read_all(&f, t, err);
	for (size_t i = 0; i < count; i++)
		finish(last, at_peak, &parts[i]);
	free(stack);
	free(at_peak);
	free(f.now);
	free(f.sums);
	return rc;
}
