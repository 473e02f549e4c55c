/* SPDX-License-Identifier: MIT
 *
 * peaks.c - see check/peaks.h. The agent keeps the peak of the whole heap alone. The peak of a part
 * is the largest sum at any recorded tick; between two ticks it may have been higher.
 *
 * A second model plays the session and tells what each tick changed. Its wire ids are those of the
 * last state, in which the caller chose the stacks.
 */
#include "check/peaks.h"

#include "link/ingest.h"
#include "session/session.h"

#include <stdlib.h>

struct playing {
	struct model *model;
	const struct model *last;
	struct part_peak *parts;
	uint64_t *held; /* now, of each part */
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

static void raise_peaks(struct playing *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->held[i] > p->parts[i].bytes) {
			p->parts[i].bytes = p->held[i];
			p->parts[i].time_ns = model_time(p->model);
		}
}

static void count_all(struct playing *p)
{
	uint32_t n = model_dense_count(p->model), id;

	for (size_t k = 0; k < p->count; k++) {
		p->held[k] = 0;
		if (p->resets != model_resets(p->model)) /* another program */
			p->parts[k].bytes = 0;
	}
	p->resets = model_resets(p->model);
	for (uint32_t i = 0; i < n; i++) {
		struct tally t = model_self(p->model, model_dense(p->model, i, &id));
		for (size_t k = 0; k < p->count; k++)
			if (covers(p, &p->parts[k], i))
				p->held[k] += live_bytes(&t);
	}
}

static void on_change(void *arg, const struct model_delta *d, size_t count)
{
	struct playing *p = arg;

	if (!d)
		count_all(p);
	for (size_t i = 0; d && i < count; i++)
		for (size_t k = 0; k < p->count; k++)
			if (covers(p, &p->parts[k], d[i].node))
				p->held[k] += live_bytes(&d[i].self); /* modulo 2^64 */
	raise_peaks(p);
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
	struct playing p = { in.model, last, parts, xcalloc(count, sizeof *p.held), count, 0 };
	model_on_change(in.model, on_change, &p);
	int rc = ingest_file(&in, t->name, t->stream, &cut, err);
	model_off_change(in.model, &p);
	ingest_release(&in);
	free(p.held);
	return rc;
}
