/* SPDX-License-Identifier: MIT
 *
 * rewind.c - builds a model of another instant of the same program and exchanges it with the
 * current one.
 *
 * Call paths are only added, never removed, so the past is the same trie with smaller counters. The
 * model for an instant gets all modules, nodes and slots of the current one, in the same dense
 * order and without counters; then the session's frames are played into it (link/replay.c). After
 * the exchange, every id and dense index that rows, names and owners keep still means the same:
 * open rows stay open.
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
	const struct node *x = node_at(&from->trie, m->trie.node_count);
	const struct location *at = model_place(from, x);
	struct event e = { .type = MTW_NODES };

	e.u.node.id = x->id;
	e.u.node.parent = node_at(&from->trie, x->parent)->id;
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
	const struct slot *x = slot_at(&from->trie, m->trie.slot_count);
	struct event e = { .type = MTW_SLOTS };

	e.u.slot.id = x->id;
	e.u.slot.node = node_at(&from->trie, x->node)->id;
	e.u.slot.epoch = x->epoch;
	return model_apply(m, &e, err);
}

int model_seed(struct model *m, const struct model *from, size_t steps, struct err *err)
{
	for (uint32_t id = 0; id < from->modules.count; id++)
		if (from->modules.list[id].known &&
		    (id >= m->modules.count || !m->modules.list[id].known) &&
		    seed_module(m, &from->modules.list[id], id, err))
			return -1;
	for (; m->trie.node_count < from->trie.node_count; steps--)
		if (!steps || seed_node(m, from, err))
			return steps ? -1 : 0;
	for (; m->trie.slot_count < from->trie.slot_count; steps--)
		if (!steps || seed_slot(m, from, err))
			return steps ? -1 : 0;
	return 1;
}

void model_want_interval(struct model *m, const struct model *as)
{
	m->interval.base_wanted = as->interval.base_wanted;
	m->interval.until_wanted = as->interval.until_wanted;
}

static bool same_structure(const struct model *a, const struct model *b)
{
	uint32_t nodes =
		a->trie.node_count < b->trie.node_count ? a->trie.node_count : b->trie.node_count;

	for (uint32_t i = 0; i < nodes; i++)
		if (node_at(&a->trie, i)->id != node_at(&b->trie, i)->id)
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
	m->snapshot.paced = was->snapshot.paced;
	m->cohorts.scans = past_both(m->cohorts.scans, was->cohorts.scans);
}

void model_swap(struct model *a, struct model *b)
{
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
}
