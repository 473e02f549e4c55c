/* SPDX-License-Identifier: MIT
 *
 * peaks.c - see check/internal.h. The agent keeps the counters at the peak of the whole heap. The
 * peak of a part is the largest sum at any recorded tick, or at that peak; between two ticks
 *
 *   sum(t) <= sum(before) + what the part allocated between both
 *
 * A second model plays the session and tells what each tick changed. Its wire ids are those of the
 * last state, in which the caller chose the stacks.
 */
#include "check/internal.h"

#include "link/ingest.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

struct playing {
	struct model *model;
	const struct model *last;
	struct part_peak *parts;
	struct tally *sums, *before; /* of each part: now, and at the tick before */
	size_t count;
	uint64_t resets;
};

static bool covers(const struct playing *p, const struct part_peak *part, uint32_t index)
{
	uint32_t id;

	model_dense(p->model, index, &id);
	const struct node *n = model_node(p->last, id);
	return n && part->covered[n->index];
}

/* before: the parts' sums at the tick before this one */
static void raise_peaks(struct playing *p, const struct tally *before)
{
	for (size_t i = 0; i < p->count; i++) {
		uint64_t held = live_bytes(&p->sums[i]), most = live_bytes(&before[i]) +
								p->sums[i].alloc_bytes -
								before[i].alloc_bytes;
		struct part_peak *part = &p->parts[i];

		part->bytes = held > part->bytes ? held : part->bytes;
		part->most = most > part->most ? most : part->most;
	}
}

/* Begins anew when another program came. */
static void count_all(struct playing *p, struct tally *before)
{
	uint32_t n = model_dense_count(p->model), id;

	for (size_t k = 0; k < p->count; k++) {
		p->sums[k] = (struct tally){ 0 };
		if (p->resets == model_resets(p->model))
			continue;
		before[k] = (struct tally){ 0 };
		p->parts[k].bytes = p->parts[k].most = 0;
	}
	p->resets = model_resets(p->model);
	for (uint32_t i = 0; i < n; i++) {
		struct tally t = model_self(p->model, model_dense(p->model, i, &id));
		for (size_t k = 0; k < p->count; k++)
			if (covers(p, &p->parts[k], i))
				tally_add(&p->sums[k], &t);
	}
}

/* Once a tick, with all that it changed. */
static void on_change(void *arg, const struct model_delta *d, size_t count)
{
	struct playing *p = arg;
	struct tally *before = p->before;

	memcpy(before, p->sums, p->count * sizeof *before);
	if (!d)
		count_all(p, before);
	for (size_t i = 0; d && i < count; i++)
		for (size_t k = 0; k < p->count; k++)
			if (covers(p, &p->parts[k], d[i].node))
				tally_add(&p->sums[k], &d[i].self); /* modulo 2^64 */
	raise_peaks(p, before);
}

/* The counters at the peak of the whole heap, which no tick may have seen. */
static void add_recorded_peak(const struct model *m, struct part_peak *part)
{
	uint64_t sum = 0;

	for (uint32_t id = 0; model_peak(m) && id < model_slot_count(m); id++) {
		const struct slot *s = model_slot(m, id);
		struct tally then = model_peak_of_slot(m, id);
		if (s && s->known && part->covered[s->node])
			sum += live_bytes(&then);
	}
	part->bytes = sum > part->bytes ? sum : part->bytes;
}

/* No part holds more than the whole. */
static void finish(const struct model *m, struct part_peak *part)
{
	const struct totals *t = model_totals(m);
	uint64_t whole = t->peak_bytes + t->peak_error_bytes;

	add_recorded_peak(m, part);
	part->most = part->most < whole ? part->most : whole;
	part->most = part->most > part->bytes ? part->most : part->bytes;
}

static void no_note(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

int peaks_find(const struct target *t, const struct model *last, struct part_peak *parts,
	       size_t count, struct err *err)
{
	struct ingest in = { .each_tick = true, .note = no_note };
	struct symbol_options no_names = { 0 };
	struct err cut = { 0 };

	if (ingest_init(&in, NULL, t->text, &no_names, err))
		return -1;
	struct playing p = { .model = in.model, .last = last, .parts = parts, .count = count };
	p.sums = xcalloc(2 * count, sizeof *p.sums);
	p.before = p.sums + count;
	model_on_change(in.model, on_change, &p);
	int rc = ingest_file(&in, t->name, t->stream, &cut, err);
	model_off_change(in.model, &p);
	ingest_release(&in);
	for (size_t i = 0; i < count; i++)
		finish(last, &parts[i]);
	free(p.sums);
	return rc;
}
