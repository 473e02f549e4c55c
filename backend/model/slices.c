/* SPDX-License-Identifier: MIT
 *
 * slices.c - ticks, sums and intervals that run in slices, one after the other.
 *
 * Only one runs at a time, so that none moves another's data.
 */
#include "model/slices.h"

#include "model/bulk.h"
#include "model/internal.h"
#include "model/sums.h"

#define AT_ONCE 2000u /* changed slots, at most, that are not worth slices */

bool model_busy(const struct model *m)
{
	return m->tick.job.busy || m->interval.job.busy || m->trie.late_count ||
	       (m->tick.job.waits && !m->tick.job.partial);
}

bool model_go_on(struct model *m, uint64_t end_ns)
{
	while (model_busy(m)) {
		if (m->tick.job.busy) {
			if (!tick_go_on(m, end_ns))
				return false;
		} else if (m->trie.late_count && !m->interval.job.begun) {
			if (!sums_settle(m, end_ns))
				return false;
		} else if (m->interval.job.busy) {
			if (!interval_go_on(m, end_ns))
				return false;
		} else {
			tick_begin(m, m->tick.job.wait_ns, m->tick.job.wait_flags);
		}
	}
	return true;
}

void slices_settle(struct model *m)
{
	m->tick.job.partial = false; /* the rest may never arrive */
	model_go_on(m, UINT64_MAX);
}

void model_set_sliced(struct model *m, bool on)
{
	if (!on)
		slices_settle(m);
	m->tick.sliced = on;
}

void slices_tick(struct model *m, uint64_t time_ns, uint32_t flags)
{
	bool by_and_by = m->tick.sliced && m->complete && !m->resuming && !(flags & MTW_TICK_FINAL);

	if (m->resuming && !(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	if (m->tick.bulk.on) {
		bulk_tick(m, time_ns, flags);
		return;
	}
	if (model_busy(m) && by_and_by) {
		m->tick.job.waits = true;
		m->tick.job.partial = false;
		m->tick.job.wait_ns = time_ns;
		m->tick.job.wait_flags = flags;
		return;
	}
	m->tick.job.waits = false; /* what belongs to it is staged with what belongs to this one */
	slices_settle(m);
	tick_begin(m, time_ns, flags);
	if (!by_and_by || m->tick.job.count + m->tick.job.expiring <= AT_ONCE)
		slices_settle(m);
}

int model_set_interval(struct model *m, uint32_t from, uint32_t to)
{
	int rc = interval_ask(m, from, to);

	if (!rc && m->interval.job.busy && !m->tick.sliced)
		slices_settle(m);
	return rc;
}

void model_bulk_begin(struct model *m)
{
	if (m->tick.bulk.on)
		return;
	slices_settle(m);
	bulk_begin(m);
}

bool model_bulk_sum(struct model *m, uint64_t end_ns)
{
	return !m->tick.bulk.on || bulk_sum(m, end_ns);
}

int model_bulk_end(struct model *m, struct err *err)
{
	bool shows = m->tick.bulk.merge;

	if (!m->tick.bulk.on)
		return 0;
	slices_settle(m);
	int rc = bulk_end(m, err);
	if (!shows && !m->tick.sliced)
		slices_settle(m);
	return rc;
}
