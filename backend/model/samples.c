/* SPDX-License-Identifier: MIT
 *
 * samples.c - the agent's samples: what was alive, in all and by slot, at some thirty instants of
 * the last ten minutes. Growth is judged by them and by nothing that this process saw, so that
 * everybody who looks, now or in a file, judges alike.
 *
 * The list comes whole each time. A sample that is not in it any more gives its cells to the next
 * one that is, as the agent's did: nothing is sent twice.
 */
#include "model/internal.h"

#include <stdlib.h>

static struct sample *by_serial(struct model *m, uint32_t serial)
{
	for (size_t i = 0; i < m->sample_count; i++)
		if (m->samples[i].f.serial == serial)
			return &m->samples[i];
	return NULL;
}

static const struct sample_figures *listed(const struct event *e, uint32_t serial)
{
	for (size_t i = 0; i < e->u.samples.count; i++)
		if (e->u.samples.list[i].serial >= serial)
			return &e->u.samples.list[i];
	return NULL;
}

/* One that did not come whole comes merged, if it comes. */
static void leave(struct model *m, struct sample *s, struct sample *next)
{
	if (next && next->whole && s->whole)
		cells_merge(m, &next->cells, &s->cells);
	cells_forget(m, &s->cells);
}

int samples_apply(struct model *m, const struct event *e, struct err *err)
{
	struct sample list[MTW_SAMPLES_MAX];
	size_t n = e->u.samples.count;

	for (size_t i = 1; i < n; i++)
		if (e->u.samples.list[i].serial <= e->u.samples.list[i - 1].serial ||
		    e->u.samples.list[i].time_ns < e->u.samples.list[i - 1].time_ns)
			return err_set(err, 3, "stream: samples are out of order; connect again");
	for (size_t i = 0; i < m->sample_count; i++) {
		const struct sample_figures *f = listed(e, m->samples[i].f.serial);
		if (!f || f->serial != m->samples[i].f.serial)
			leave(m, &m->samples[i], f ? by_serial(m, f->serial) : NULL);
	}
	for (size_t i = 0; i < n; i++) {
		const struct sample *had = by_serial(m, e->u.samples.list[i].serial);
		list[i] = had ? *had : (struct sample){ 0 };
		list[i].f = e->u.samples.list[i];
	}
	memcpy(m->samples, list, n * sizeof *list);
	m->sample_count = n;
	m->samples_told = true;
	m->samples_totals_only = e->u.samples.flags & MTW_SAMPLES_TOTALS_ONLY;
	m->samples_generation++;
	return 0;
}

int samples_cell(struct model *m, const struct event *e, struct err *err)
{
	uint32_t serial = e->u.mark_live.mark;
	struct sample *s = by_serial(m, serial);

	if (!s)
		return err_set(err, 3,
			       "stream: live bytes of sample %u, which is not one; connect again",
			       serial);
	if (s->whole && m->resuming)
		return 0; /* what was merged there meanwhile was merged here, too */
	if (e->u.mark_live.end) {
		cells_finish(&s->cells);
		s->whole = true;
		m->samples_generation++;
		return 0;
	}
	if (!slot_by_id(m, e->u.mark_live.slot))
		return err_set(
			err, 3,
			"stream: sample %u names slot %u, which was never named; connect again",
			serial, e->u.mark_live.slot);
	if (s->whole) /* sent anew */
		cells_forget(m, &s->cells);
	s->whole = false;
	return cells_add(m, &s->cells,
			 (struct mark_cell){ e->u.mark_live.slot, e->u.mark_live.blocks,
					     e->u.mark_live.bytes },
			 err);
}

void samples_clear(struct model *m)
{
	for (size_t i = 0; i < m->sample_count; i++)
		free(m->samples[i].cells.list);
	memset(m->samples, 0, sizeof m->samples);
	m->sample_count = 0;
	m->samples_told = m->samples_totals_only = false;
	m->samples_generation++;
}

size_t model_samples(const struct model *m, const struct sample **list)
{
	*list = m->samples;
	return m->sample_count;
}

bool model_samples_told(const struct model *m)
{
	return m->samples_told;
}

bool model_samples_by_slot(const struct model *m)
{
	for (size_t i = 0; i < m->sample_count; i++)
		if (!m->samples[i].whole)
			return false;
	return !m->samples_totals_only;
}

uint64_t model_samples_generation(const struct model *m)
{
	return m->samples_generation;
}
