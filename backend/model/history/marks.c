/* SPDX-License-Identifier: MIT
 *
 * marks.c - marks, and what was alive at them. model/interval.c has the changes between two marks.
 *
 * The live amounts at a mark are kept as the agent sends them: a chain, in which each mark holds
 * the slots that differ from the mark before. A mark that is dropped, or reduced to its totals,
 * leaves the chain: each of its cells moves into the next mark unless that has its own cell for the
 * slot; into the first one only those that hold something. So
 *     live(slot, m) = cell of the newest chain mark <= m that has one, else nothing
 * always holds, and nothing is sent twice.
 */
#include "model/history/history.h"

#include <stdlib.h>

static bool was_sent(const struct mark *k)
{
	return k->known || k->coming;
}

bool mark_in_chain(const struct mark *k)
{
	return was_sent(k) && !(k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY));
}

static struct mark *chain_next(struct marks *x, uint32_t id)
{
	for (size_t i = id + 1; i < x->limit; i++)
		if (mark_in_chain(&x->list[i]))
			return &x->list[i];
	return NULL;
}

static bool has_before(const struct marks *x, uint32_t id)
{
	while (--id)
		if (mark_in_chain(&x->list[id]))
			return true;
	return false;
}

static void set_text(char *to, size_t room, struct text t)
{
	size_t n = t.len < room - 1 ? t.len : room - 1;

	memcpy(to, t.s, n);
	to[n] = 0;
}

static void forget_cells(struct marks *x, struct quota *q, struct mark *k)
{
	x->chain += k->live_known;
	cells_forget(q, &k->cells);
	k->live_known = false;
}

static void leave_chain(struct marks *x, struct quota *q, struct mark *k)
{
	struct mark *next = chain_next(x, k->id);

	/* One that has not come whole yet will come relative to the new chain. */
	if (next && next->live_known && k->live_known)
		cells_merge(q, &next->cells, &k->cells, !has_before(x, k->id));
	forget_cells(x, q, k);
}

bool marks_known(const struct marks *x, uint32_t id)
{
	return id < x->limit && x->list[id].known;
}

int marks_check(const struct marks *x, const struct event *e, struct err *err)
{
	uint32_t id = e->u.mark.id;

	if (id == 0 || id >= MTW_MARKS_MAX)
		return err_set(err, 3, "stream: mark %u is out of range; connect again", id);
	if (e->u.mark.totals.free_blocks > e->u.mark.totals.alloc_blocks ||
	    e->u.mark.totals.free_bytes > e->u.mark.totals.alloc_bytes)
		return err_set(err, 3,
			       "stream: mark %u freed more than was allocated; connect again", id);
	if (id < x->limit && was_sent(&x->list[id]) &&
	    (x->list[id].epoch != e->u.mark.epoch || (x->list[id].flags & ~e->u.mark.flags)))
		return err_set(err, 3,
			       "stream: mark %u changes its epoch or comes back; connect again",
			       id);
	return 0;
}

bool marks_enter(struct marks *x, struct quota *q, const struct event *e, bool resuming)
{
	uint32_t id = e->u.mark.id;

	GROW(x->list, x->room, (size_t)id + 1);
	if (id >= x->limit)
		x->limit = id + 1;
	struct mark *k = &x->list[id];
	bool leaves =
		mark_in_chain(k) && (e->u.mark.flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY));
	k->id = id;
	if (leaves)
		leave_chain(x, q, k);
	k->coming = resuming && !k->known;
	k->known = !k->coming;
	k->flags = e->u.mark.flags;
	k->epoch = e->u.mark.epoch;
	k->time_ns = e->u.mark.time_ns;
	k->rss_bytes = e->u.mark.rss_bytes;
	k->totals = e->u.mark.totals;
	set_text(k->name, sizeof k->name, e->u.mark.name);
	set_text(k->set_by, sizeof k->set_by, e->u.mark.set_by);
	x->generation++;
	return leaves;
}

void marks_arrive(struct marks *x)
{
	for (size_t i = 1; i < x->limit; i++) {
		x->list[i].known |= x->list[i].coming;
		x->list[i].coming = false;
	}
	x->generation++;
}

int marks_cell(struct marks *x, struct quota *q, const struct event *e, bool resuming, bool *anew,
	       struct err *err)
{
	uint32_t id = e->u.mark_live.mark;

	*anew = false;
	if (id >= x->limit || !was_sent(&x->list[id]))
		return err_set(err, 3,
			       "stream: live bytes of mark %u, which was never set; connect again",
			       id);
	struct mark *k = &x->list[id];
	if (!mark_in_chain(k))
		return 0; /* given up or dropped while its cells were under way */
	if (k->live_known && resuming)
		return 0; /* what was merged there meanwhile was merged here, too */
	if (e->u.mark_live.end) {
		cells_finish(q, &k->cells);
		k->live_known = true;
		x->generation++;
		return 0;
	}
	*anew = k->live_known;
	if (k->live_known)
		forget_cells(x, q, k);
	return cells_add(q, &k->cells,
			 (struct mark_cell){ e->u.mark_live.slot, e->u.mark_live.blocks,
					     e->u.mark_live.bytes },
			 err)
		       ? -1
		       : 1;
}

void marks_clear(struct marks *x)
{
	for (size_t i = 0; i < x->limit; i++)
		cells_drop(&x->list[i].cells);
	if (x->room)
		memset(x->list, 0, x->room * sizeof *x->list);
	x->limit = 0;
	x->generation++;
	x->chain++;
}
