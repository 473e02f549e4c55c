/* SPDX-License-Identifier: MIT
 *
 * marks.c - marks, and what was alive at them. What changed between two is model/interval.c's.
 *
 * Live at a mark is kept as the agent sends it: a chain, each mark holding the slots that differ
 * from the chain's mark before. A mark that is dropped, or reduced to its totals, leaves the
 * chain: its cells move into the next one, where that has none of its own for the slot. So
 *     live(slot, m) = cell of the newest chain mark <= m that has one, else nothing
 * holds at every moment, whatever was dropped, and nothing is sent twice.
 */
#include "model/internal.h"

#include <stdlib.h>

static bool was_sent(const struct mark *k)
{
	return k->known || k->coming;
}

bool mark_in_chain(const struct mark *k)
{
	return was_sent(k) && !(k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY));
}

static struct mark *chain_next(struct model *m, uint32_t id)
{
	for (size_t i = id + 1; i < m->mark_limit; i++)
		if (mark_in_chain(&m->marks[i]))
			return &m->marks[i];
	return NULL;
}

static void set_text(char *to, size_t room, struct text t)
{
	size_t n = t.len < room - 1 ? t.len : room - 1;

	memcpy(to, t.s, n);
	to[n] = 0;
}

static void forget_cells(struct model *m, struct mark *k)
{
	cells_forget(m, &k->cells);
	k->live_known = false;
}

static void leave_chain(struct model *m, struct mark *k)
{
	struct mark *next = chain_next(m, k->id);

	/* One that has not come whole yet will come relative to the new chain. */
	if (next && next->live_known && k->live_known)
		cells_merge(m, &next->cells, &k->cells);
	forget_cells(m, k);
}

int marks_apply(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.mark.id;

	if (id == 0 || id >= MTW_MARKS_MAX)
		return err_set(err, 3, "stream: mark %u is out of range; connect again", id);
	if (e->u.mark.totals.free_blocks > e->u.mark.totals.alloc_blocks ||
	    e->u.mark.totals.free_bytes > e->u.mark.totals.alloc_bytes)
		return err_set(err, 3,
			       "stream: mark %u freed more than was allocated; connect again", id);
	if (id < m->mark_limit && was_sent(&m->marks[id]) &&
	    (m->marks[id].epoch != e->u.mark.epoch || (m->marks[id].flags & ~e->u.mark.flags)))
		return err_set(err, 3,
			       "stream: mark %u changes its epoch or comes back; connect again",
			       id);
	GROW(m->marks, m->mark_room, (size_t)id + 1);
	if (id >= m->mark_limit)
		m->mark_limit = id + 1;
	struct mark *k = &m->marks[id];
	bool leaves =
		mark_in_chain(k) && (e->u.mark.flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY));
	k->id = id;
	if (!k->known)
		interval_unsettle(m, id);
	if (leaves)
		leave_chain(m, k);
	k->coming = m->resuming && !k->known;
	k->known = !k->coming;
	k->flags = e->u.mark.flags;
	k->epoch = e->u.mark.epoch;
	k->time_ns = e->u.mark.time_ns;
	k->rss_bytes = e->u.mark.rss_bytes;
	k->totals = e->u.mark.totals;
	set_text(k->name, sizeof k->name, e->u.mark.name);
	set_text(k->set_by, sizeof k->set_by, e->u.mark.set_by);
	m->marks_generation++;
	if (leaves)
		interval_without(m, id);
	return 0;
}

void marks_arrive(struct model *m)
{
	for (size_t i = 1; i < m->mark_limit; i++) {
		m->marks[i].known |= m->marks[i].coming;
		m->marks[i].coming = false;
	}
	m->marks_generation++;
}

int marks_cell(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.mark_live.mark;

	if (id >= m->mark_limit || !was_sent(&m->marks[id]))
		return err_set(err, 3,
			       "stream: live bytes of mark %u, which was never set; connect again",
			       id);
	struct mark *k = &m->marks[id];
	if (!mark_in_chain(k))
		return 0; /* given up or dropped while its cells were under way */
	if (k->live_known && m->resuming)
		return 0; /* what was merged there meanwhile was merged here, too */
	if (e->u.mark_live.end) {
		cells_finish(&k->cells);
		k->live_known = true;
		m->marks_generation++;
		return 0;
	}
	if (!slot_by_id(m, e->u.mark_live.slot))
		return err_set(
			err, 3,
			"stream: mark %u names slot %u, which was never named; connect again", id,
			e->u.mark_live.slot);
	if (k->live_known) { /* sent anew */
		forget_cells(m, k);
		interval_unsettle(m, id);
	}
	return cells_add(m, &k->cells,
			 (struct mark_cell){ e->u.mark_live.slot, e->u.mark_live.blocks,
					     e->u.mark_live.bytes },
			 err);
}

void marks_clear(struct model *m)
{
	for (size_t i = 0; i < m->mark_limit; i++)
		free(m->marks[i].cells.list);
	if (m->mark_room)
		memset(m->marks, 0, m->mark_room * sizeof *m->marks);
	m->mark_limit = 0;
	interval_clear(m);
	m->marks_generation++;
}

uint64_t model_marks_generation(const struct model *m)
{
	return m->marks_generation;
}

uint32_t model_mark_limit(const struct model *m)
{
	return m->mark_limit ? (uint32_t)m->mark_limit : 1;
}

const struct mark *model_mark(const struct model *m, uint32_t id)
{
	static const struct mark none;

	if (id < m->mark_limit)
		return &m->marks[id];
	return id < model_mark_limit(m) ? &none : NULL;
}

int model_mark_find(const struct model *m, const char *name_or_id)
{
	const char *digits = name_or_id + (name_or_id[0] == 'm');
	char *end;

	for (size_t i = 1; i < m->mark_limit; i++)
		if (m->marks[i].known && !(m->marks[i].flags & MTW_MARK_DROPPED) &&
		    !strcmp(m->marks[i].name, name_or_id))
			return (int)i;
	if (*digits < '0' || *digits > '9')
		return -1;
	unsigned long id = strtoul(digits, &end, 10);
	if (*end || id == 0 || id >= m->mark_limit || !m->marks[id].known ||
	    (m->marks[id].flags & MTW_MARK_DROPPED))
		return -1;
	return (int)id;
}

uint32_t model_newest_mark(const struct model *m)
{
	for (size_t i = m->mark_limit; i-- > 1;)
		if (m->marks[i].known && !(m->marks[i].flags & MTW_MARK_DROPPED))
			return (uint32_t)i;
	return 0;
}
