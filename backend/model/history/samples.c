/* SPDX-License-Identifier: MIT
 *
 * samples.c - the agent's samples: live amounts, in total and by slot, at some thirty instants of
 * the last ten minutes. Growth is judged by them and by nothing that this process saw, so that all
 * viewers of a session or its file judge alike.
 *
 * The list arrives whole each time. A sample missing from it gives its cells to the next remaining
 * one, as the agent's did: nothing is sent twice. Several may be missing in a row, and the newest
 * of them wins: it gives first.
 */

#include "model/history/history.h"

#include <stdlib.h>

static struct sample *by_serial(struct samples *x, uint32_t serial)
{
	if (x->last < x->count && x->list[x->last].f.serial == serial)
		return &x->list[x->last]; /* cells come by the thousand */
	for (size_t i = 0; i < x->count; i++)
		if (x->list[i].f.serial == serial)
			return &x->list[x->last = i];
	return NULL;
}

static const struct sample_figures *listed(const struct event *e, uint32_t serial)
{
	for (size_t i = 0; i < e->u.samples.count; i++)
		if (e->u.samples.list[i].serial >= serial)
			return &e->u.samples.list[i];
	return NULL;
}

/* A sample that arrived incomplete arrives merged into a later one, if at all. */
static void leave(struct quota *q, struct sample *s, struct sample *next, bool first)
{
	if (next && next->whole && s->whole)
		cells_merge(q, &next->cells, &s->cells, first);
	cells_forget(q, &s->cells);
}

int samples_apply(struct samples *x, struct quota *q, const struct event *e, struct err *err)
{
	struct sample list[MTW_SAMPLES_MAX];
	size_t n = e->u.samples.count;

	for (size_t i = 1; i < n; i++)
		if (e->u.samples.list[i].serial <= e->u.samples.list[i - 1].serial ||
		    e->u.samples.list[i].time_ns < e->u.samples.list[i - 1].time_ns)
			return err_set(err, 3, "stream: samples are out of order; connect again");
	for (size_t i = x->count; i-- > 0;) {
		const struct sample_figures *f = listed(e, x->list[i].f.serial);
		if (!f || f->serial != x->list[i].f.serial)
			leave(q, &x->list[i], f ? by_serial(x, f->serial) : NULL, !i);
	}
	for (size_t i = 0; i < n; i++) {
		const struct sample *had = by_serial(x, e->u.samples.list[i].serial);
		list[i] = had ? *had : (struct sample){ 0 };
		list[i].f = e->u.samples.list[i];
	}
	memcpy(x->list, list, n * sizeof *list);
	x->count = n;
	x->told = true;
	x->totals_only = e->u.samples.flags & MTW_SAMPLES_TOTALS_ONLY;
	x->generation++;
	return 0;
}

int samples_cell(struct samples *x, struct quota *q, const struct event *e, bool resuming,
		 struct err *err)
{
	uint32_t serial = e->u.mark_live.mark;
	struct sample *s = by_serial(x, serial);

	if (!s)
		return err_set(err, 3,
			       "stream: live bytes of sample %u, which is not one; connect again",
			       serial);
	if (s->whole && resuming)
		return 0; /* what was merged there meanwhile was merged here, too */
	if (e->u.mark_live.end) {
		cells_finish(q, &s->cells);
		s->whole = true;
		x->generation++;
		return 0;
	}
	if (s->whole) /* sent again */
		cells_forget(q, &s->cells);
	s->whole = false;
	return cells_add(q, &s->cells,
			 (struct mark_cell){ e->u.mark_live.slot, e->u.mark_live.blocks,
					     e->u.mark_live.bytes },
			 err)
		       ? -1
		       : 1;
}

void samples_clear(struct samples *x)
{
	for (size_t i = 0; i < x->count; i++)
		cells_drop(&x->list[i].cells);
	memset(x->list, 0, sizeof x->list);
	x->count = 0;
	x->told = x->totals_only = false;
	x->generation++;
}
