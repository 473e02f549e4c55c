/* SPDX-License-Identifier: MIT
 *
 * rewind.c - a model of another instant of the same program, and how it takes the other's place.
 *
 * Call paths only ever come, never go, so the past is the same trie with smaller counters. A model
 * that is to hold an instant gets all modules, nodes and slots of the one that goes on, in the same
 * dense order and without a counter; then the session's frames are played into it (link/replay.c).
 * When the two then exchange what they hold, everything that rows, names and owners keep by id or
 * by dense index goes on to mean the same: what is open stays open.
 */
#include "model/internal.h"

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

static int seed_node(struct model *m, const struct model *from, struct err *err)
{
	const struct node *x = node_at(from, m->node_count);
	const struct location *at = model_place(from, x);
	struct event e = { .type = MTW_NODES };

	e.u.node.id = x->id;
	e.u.node.parent = node_at(from, x->parent)->id;
	e.u.node.module = at->module;
	e.u.node.kind = at->kind;
	e.u.node.offset = at->offset;
	if (model_apply(m, &e, err))
		return -1;
	if (!x->by_pointer)
		return 0;
	e = (struct event){ .type = MTW_PROVEN };
	e.u.proven.node = x->id;
	e.u.proven.by = MTW_BY_POINTER;
	return model_apply(m, &e, err);
}

static int seed_slot(struct model *m, const struct model *from, struct err *err)
{
	const struct slot *x = slot_at(from, m->slot_count);
	struct event e = { .type = MTW_SLOTS };

	e.u.slot.id = x->id;
	e.u.slot.node = node_at(from, x->node)->id;
	e.u.slot.epoch = x->epoch;
	return model_apply(m, &e, err);
}

int model_seed(struct model *m, const struct model *from, size_t steps, struct err *err)
{
	for (uint32_t id = 0; id < from->module_count; id++)
		if (from->modules[id].known && (id >= m->module_count || !m->modules[id].known) &&
		    seed_module(m, &from->modules[id], id, err))
			return -1;
	for (; m->node_count < from->node_count; steps--)
		if (!steps || seed_node(m, from, err))
			return steps ? -1 : 0;
	for (; m->slot_count < from->slot_count; steps--)
		if (!steps || seed_slot(m, from, err))
			return steps ? -1 : 0;
	return 1;
}

void model_want_interval(struct model *m, const struct model *as)
{
	m->base_wanted = as->base_wanted;
	m->until_wanted = as->until_wanted;
}

static bool same_structure(const struct model *a, const struct model *b)
{
	uint32_t nodes = a->node_count < b->node_count ? a->node_count : b->node_count;

	for (uint32_t i = 0; i < nodes; i++)
		if (node_at(a, i)->id != node_at(b, i)->id)
			return false;
	return true;
}

static uint64_t past_both(uint64_t a, uint64_t b)
{
	return (a > b ? a : b) + 1;
}

/* What belongs to the object, not to what it holds: those who look at it, and what tells them to
 * look again. */
static void keep_own(struct model *m, const struct model *was, bool same)
{
	memcpy(m->observers, was->observers, sizeof m->observers);
	m->observer_count = was->observer_count;
	m->on_notice = was->on_notice;
	m->notice_arg = was->notice_arg;
	m->resets = was->resets + !same;
	m->ticks = past_both(m->ticks, was->ticks);
	m->marks_generation = past_both(m->marks_generation, was->marks_generation);
	m->samples_generation = past_both(m->samples_generation, was->samples_generation);
	m->cohort_scans = past_both(m->cohort_scans, was->cohort_scans);
}

void model_swap(struct model *a, struct model *b)
{
	tick_settle(a);
	tick_settle(b);
	bool same = same_structure(a, b);
	struct model *was = xmalloc(sizeof *was);

	*was = *a;
	*a = *b;
	*b = *was;
	struct model *other = xmalloc(sizeof *other);
	*other = *a;
	keep_own(a, was, same);
	keep_own(b, other, same);
	free(other);
	free(was);
	model_notify(a, NULL, 0);
	model_notify(b, NULL, 0);
}
