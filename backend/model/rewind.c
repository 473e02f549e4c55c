/* SPDX-License-Identifier: MIT
 *
 * rewind.c - builds a model of another instant of the same program and exchanges it with the
 * current one.
 *
 * Call paths are only added, never removed, so the past is the same tree with smaller counters. The
 * model for an instant shares the call tree of the current one (columns_adopt()), in the same order
 * of arrival and without counters; then the session's frames are played into it (link/replay.c).
 * After the exchange, every id and order of arrival that rows, names and owners keep still means
 * the same: open rows stay open.
 */
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>
#include <string.h>

static struct text text_of(const void *bytes, size_t len)
{
	return (struct text){ bytes, len };
}

static int seed_module(struct model *m, const struct module *x, uint32_t id, struct err *err)
{
	struct event e = { .type = MTW_MODULE };

	e.u.module.id = id;
	/* when it goes, the session says */
	e.u.module.flags = x->flags & ~(uint32_t)MTW_MODULE_GONE;
	e.u.module.bias = x->bias;
	e.u.module.start = x->start;
	e.u.module.end = x->end;
	e.u.module.loaded_ns = x->loaded_ns;
	e.u.module.path = text_of(x->path, strlen(x->path));
	e.u.module.build_id = text_of(x->build_id, x->build_id_len);
	return model_apply(m, &e, err);
}

/* They have the same numbers in both. */
static int seed_locations(struct model *m, const struct locations *from, struct err *err)
{
	for (size_t i = m->locations.count; i < from->count; i++) {
		const struct location *at = &from->list[i];
		if (locations_enter(&m->locations, &m->quota, at->module, at->offset, at->kind,
				    err) == NO_ID)
			return -1;
	}
	return 0;
}

int model_seed(struct model *m, const struct model *from, struct err *err)
{
	for (uint32_t id = 0; id < from->modules.count; id++)
		if (from->modules.list[id].known &&
		    (id >= m->modules.count || !m->modules.list[id].known) &&
		    seed_module(m, &from->modules.list[id], id, err))
			return -1;
	if (seed_locations(m, &from->locations, err))
		return -1;
	model_columns(m); /* all that came */
	if (!columns_adopt(&m->maker->columns, model_columns(from)))
		return err_set(err, 3, "the session has other call paths at that instant");
	return 0;
}

void model_want_interval(struct model *m, const struct model *as)
{
	m->interval.base_wanted = as->interval.base_wanted;
	m->interval.until_wanted = as->interval.until_wanted;
}

static bool same_structure(const struct model *a, const struct model *b)
{
	const struct skeleton *x = model_columns(a)->skeleton, *y = model_columns(b)->skeleton;
	uint32_t nodes = x->nodes < y->nodes ? x->nodes : y->nodes;

	for (uint32_t i = 0; x != y && i < nodes; i++)
		if (x->id[x->node_of[i]] != y->id[y->node_of[i]])
			return false;
	return true;
}

static uint64_t past_both(uint64_t a, uint64_t b)
{
	return (a > b ? a : b) + 1;
}

/* Keeps what belongs to the object and not to its contents: who hears of notices, and the counters
 * that make readers look again. */
static void keep_own(struct model *m, const struct model *was, bool same)
{
	m->on_notice = was->on_notice;
	m->notice_arg = was->notice_arg;
	m->resets = was->resets + !same;
	m->ticks = past_both(m->ticks, was->ticks);
	m->marks.generation = past_both(m->marks.generation, was->marks.generation);
	m->samples.generation = past_both(m->samples.generation, was->samples.generation);
	m->cohorts.scans = past_both(m->cohorts.scans, was->cohorts.scans);
}

void model_swap(struct model *a, struct model *b)
{
	model_mine(a);
	model_mine(b);
	bool same = same_structure(a, b), paced[] = { a->maker->paced, b->maker->paced };
	struct model *was = xmalloc(sizeof *was);

	*was = *a;
	*a = *b;
	*b = *was;
	struct model *other = xmalloc(sizeof *other);
	*other = *a;
	keep_own(a, was, same);
	keep_own(b, other, same);
	a->maker->paced = paced[0];
	b->maker->paced = paced[1];
	free(other);
	free(was);
}
