/* SPDX-License-Identifier: MIT */
#include "link/thin/stream.h"

#include "model/history/history.h"
#include "wire/decode.h"

#include <stdlib.h>

bool merged_takes(uint64_t type)
{
	return type == MTW_SAMPLES || type == MTW_SAMPLE_LIVE || type == MTW_PEAK;
}

static bool is_fresh(const struct merged *x, uint32_t serial)
{
	for (size_t i = x->fresh_count; i-- > 0;)
		if (x->fresh[i] == serial)
			return true;
	return false;
}

static void note_fresh(struct merged *x, uint32_t serial)
{
	if (is_fresh(x, serial))
		return;
	GROW(x->fresh, x->fresh_room, x->fresh_count + 1);
	x->fresh[x->fresh_count++] = serial;
}

static int on_sample(void *arg, const struct event *e, struct err *err)
{
	struct merged *x = arg;

	if (e->type == MTW_SAMPLES)
		return samples_apply(&x->samples, &x->quota, e, err);
	note_fresh(x, e->u.mark_live.mark);
	return samples_cell(&x->samples, &x->quota, e, false, err) < 0 ? -1 : 0;
}

/* A sample that came earlier takes over others' entries in the reader, too. */
static void put_samples(struct merged *x, struct frames *to)
{
	for (size_t i = 0; i < x->samples.count; i++) {
		struct sample *s = &x->samples.list[i];
		if (!is_fresh(x, s->f.serial))
			continue;
		if (!s->whole)
			cells_finish(&x->quota, &s->cells); /* frames have them by slot */
		cells_write(&s->cells, to, MTW_SAMPLE_LIVE, s->f.serial, s->whole, NULL);
	}
	x->fresh_count = 0;
}

static int on_peak(void *arg, const struct event *e, struct err *err)
{
	struct merged *x = arg;

	(void)err;
	x->last.serial = e->u.peak.serial;
	x->last.time_ns = e->u.peak.time_ns;
	x->last.sum = e->u.peak.sum;
	if (e->u.peak.slot)
		counts_add(&x->peak, e->u.peak.slot, &e->u.peak.then);
	return 0;
}

static int take_whole(struct merged *x)
{
	struct err none = { 0 };
	int rc = 0;

	for (size_t i = 0; i < x->coming.count && !rc; i++)
		rc = wire_read(MTW_PEAK, x->coming.bytes + x->coming.list[i].at,
			       x->coming.list[i].len, on_peak, x, &none);
	held_drop(&x->coming);
	x->begun = false;
	return rc;
}

static int join_peak(struct merged *x, const struct held *f, size_t i)
{
	const struct held_frame *a = &f->list[i];
	uint64_t flags = held_number(f, i, 1);

	if (flags & MTW_PART_FIRST) {
		held_drop(&x->coming);
		x->begun = true;
	}
	if (!x->begun)
		return 1; /* it began in an earlier group */
	held_add(&x->coming, a->time_ns, a->type, f->bytes + a->at, a->len);
	return flags & MTW_PART_LAST ? take_whole(x) : 0;
}

static void put_peak(struct merged *x, struct frames *to)
{
	const struct counts *c = &x->peak;
	uint64_t flags = MTW_PART_FIRST;

	counts_settle(&x->peak);
	for (size_t i = 0; i < c->count; flags = 0) {
		for (; i < c->count && !frames_full(to); i++)
			frames_counters(to, c->list[i].slot, &c->list[i].now);
		frames_put(to, x->last.serial);
		frames_put(to, flags | (i == c->count ? MTW_PART_LAST : 0));
		frames_put(to, x->last.time_ns);
		frames_tally(to, &x->last.sum);
		frames_list(to, MTW_PEAK);
	}
	counts_drop(&x->peak);
	for (size_t i = 0; i < x->coming.count; i++)
		to->fn(to->arg, MTW_PEAK, x->coming.bytes + x->coming.list[i].at,
		       x->coming.list[i].len);
	held_drop(&x->coming);
	x->begun = false;
}

int merged_join(struct merged *x, const struct held *f, size_t i)
{
	const struct held_frame *a = &f->list[i];
	struct err none = { 0 };

	if (a->type == MTW_PEAK)
		return join_peak(x, f, i);
	if (wire_read(a->type, f->bytes + a->at, a->len, on_sample, x, &none))
		return -1;
	return a->type == MTW_SAMPLES;
}

int merged_pass(struct merged *x, uint64_t type, const uint8_t *payload, size_t len)
{
	struct err none = { 0 };
	int rc = type == MTW_PEAK ? 0 : wire_read(type, payload, len, on_sample, x, &none);

	x->fresh_count = 0;
	return rc;
}

void merged_put(struct merged *x, struct frames *to)
{
	put_samples(x, to);
	put_peak(x, to);
}

void merged_clear(struct merged *x)
{
	samples_clear(&x->samples);
	held_free(&x->coming);
	counts_free(&x->peak);
	free(x->fresh);
	*x = (struct merged){ 0 };
}
