/* SPDX-License-Identifier: MIT
 *
 * bulk.c - applies the ticks of a session file that is read to an instant: many, of which only the
 * last state is shown.
 *
 * In a model that has no complete state yet each tick takes effect at once. In a model that shows a
 * state only the columns go on, tick by tick: the snapshot stays, and with it totals and time,
 * until the end. Everything else happens at every tick (history, rates, flags), so that the end is
 * the same state to the last digit.
 */
#include "model/bulk.h"

#include "model/columns.h"
#include "model/model_state.h"

uint64_t bulk_time(const struct model *m)
{
	return m->tick.bulk.merge && m->tick.bulk.ticks ? m->tick.bulk.time_ns : m->time_ns;
}

int bulk_tick(struct model *m, uint64_t time_ns, uint32_t flags, struct err *err)
{
	struct bulk *b = &m->tick.bulk;
	uint64_t before = bulk_time(m), now = time_ns > before ? time_ns : before;
	const struct totals *totals = b->has_totals ? &b->totals : &m->totals;

	if (tick_counters(m, before, now, &totals->sum, m->complete && !m->resuming, err))
		return -1;
	b->ticks++;
	b->time_ns = now;
	b->flags = flags | (b->flags & MTW_TICK_FINAL);
	if (!m->totals_pending)
		return 0;
	b->totals = m->totals_staged;
	b->has_totals = true;
	tick_remember(m, now, &b->totals);
	m->totals_pending = false;
	return 0;
}

static void begin(struct model *m)
{
	struct bulk *b = &m->tick.bulk;

	if (m->complete && !m->resuming)
		model_heap(m); /* it stays */
	b->on = true;
	b->ticks = b->flags = 0;
	b->has_totals = false;
	b->merge = m->complete && !m->resuming;
}

static int end(struct model *m, struct err *err)
{
	struct bulk *b = &m->tick.bulk;
	int rc = maker_take(m, err);

	b->on = false;
	if (b->merge && b->ticks)
		tick_accept(m, b->time_ns, b->flags, b->has_totals ? &b->totals : NULL, false);
	b->merge = false;
	interval_resume(m);
	return rc;
}

void model_bulk_begin(struct model *m)
{
	if (!m->tick.bulk.on)
		begin(m);
}

int model_bulk_end(struct model *m, struct err *err)
{
	return m->tick.bulk.on ? end(m, err) : 0;
}
