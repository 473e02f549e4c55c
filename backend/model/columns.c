/* SPDX-License-Identifier: MIT
 *
 * columns.c - keeps the columns beside the model: they are made when somebody first asks for a
 * snapshot, and then follow each tick, slot by slot.
 */
#include "model/columns.h"
#include "model/internal.h"

#include <stdlib.h>

#define PACE_COSTS 6 /* ... and so many times what the last one took: rows of it take as long */

/* Nodes and slots that came since. */
static void take_new(const struct trie *t, struct columns *c)
{
	uint32_t nodes = c->skeleton->nodes + (uint32_t)c->node_count;
	uint32_t slots = c->slots + (uint32_t)c->slot_count, placed = c->slots;

	for (uint32_t i = nodes; i < t->node_count; i++) {
		const struct node *n = node_at(t, i);

		columns_add_node(c, n->parent, n->location, n->id, n->by_pointer);
	}
	for (uint32_t s = slots; s < t->slot_count; s++)
		columns_add_slot(c, slot_at(t, s)->node, slot_at(t, s)->epoch);
	columns_settle(c);
	/* A stack that has ever held estimates has them for good; the model keeps that by node. */
	for (uint32_t s = placed; s < t->slot_count; s++)
		columns_count(c, s, &slot_at(t, s)->now,
			      node_at(t, slot_at(t, s)->node)->self_estimate);
}

void model_columns(const struct model *m, struct columns *c)
{
	columns_init(c);
	take_new(&m->trie, c);
}

void columns_follow(struct model *m, uint32_t slot)
{
	const struct slot *s = slot_at(&m->trie, slot);

	if (m->snapshot.columns && slot < m->snapshot.columns->slots)
		columns_count(m->snapshot.columns, slot, &s->now,
			      node_at(&m->trie, s->node)->self_estimate ||
				      slot_is_estimate(s, &s->now));
}

static void forget_base(struct columns *c)
{
	free(c->base.from);
	free(c->base.until);
	c->base = (struct base){ 0 };
}

void columns_forget(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	heap_drop(s->heap);
	s->heap = NULL;
	s->based = false;
	if (s->columns)
		columns_release(s->columns);
	free(s->columns);
	s->columns = NULL;
}

static struct heap_rates *rates_of(const struct model *m, const struct columns *c)
{
	struct rate_sums sums;
	size_t slot = rates_next(&m->rates, 0);

	if (slot == SIZE_MAX)
		return NULL;
	heap_rates_begin(&sums, c->skeleton->stacks);
	for (; slot < m->trie.slot_count; slot = rates_next(&m->rates, slot + 1)) {
		struct rate r = rate_read(&m->rates, (uint32_t)slot);

		heap_rates_add(&sums, columns_stack(c, slot_at(&m->trie, (uint32_t)slot)->node),
			       &r);
	}
	return heap_rates_end(&sums);
}

/* The live amounts at the interval's ends. */
static void take_base(struct model *m, struct columns *c)
{
	struct snapshot *s = &m->snapshot;

	if (s->based && s->interval == m->interval.generation)
		return;
	forget_base(c);
	s->based = true;
	s->interval = m->interval.generation;
	if (m->interval.base)
		c->base.from = model_live_at(m, c, m->interval.base);
	if (m->interval.until)
		c->base.until = model_live_at(m, c, m->interval.until);
}

void model_set_paced(struct model *m, bool on)
{
	m->snapshot.paced = on;
}

bool model_behind(const struct model *m)
{
	return m->snapshot.heap && m->snapshot.ticks != m->ticks;
}

/* Only ticks wait: the first whole state, and another interval, are seen at once. */
static bool is_due(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	if (!s->heap || s->interval != m->interval.generation || s->resets != m->resets ||
	    s->complete != m->complete)
		return true;
	if (s->ticks == m->ticks)
		return false;
	uint64_t since = s->paced && !m->final ? now_ns() - s->made_ns : UINT64_MAX;
	return since >= PACE_COSTS * s->cost_ns;
}

struct heap *model_heap(const struct model *of)
{
	struct model *m = (struct model *)of; /* what it keeps does not change what it says */
	struct snapshot *s = &m->snapshot;
	uint64_t began = now_ns();

	if (!is_due(m))
		return s->heap;
	if (!s->columns) {
		s->columns = xmalloc(sizeof *s->columns);
		columns_init(s->columns);
	}
	take_new(&m->trie, s->columns);
	take_base(m, s->columns);
	heap_drop(s->heap);
	s->heap = heap_new(s->columns,
			   m->interval.base || m->interval.until ? &s->columns->base : NULL);
	s->heap->rates = rates_of(m, s->columns);
	s->ticks = m->ticks;
	s->resets = m->resets;
	s->complete = m->complete;
	s->made_ns = now_ns();
	s->cost_ns = s->made_ns - began;
	return s->heap;
}

static bool go_on(void *arg, uint32_t mark, const struct slot *s, const struct live *was,
		  const struct live *is)
{
	(void)arg, (void)mark, (void)s, (void)was, (void)is;
	return true;
}

struct live *model_live_at(const struct model *m, const struct columns *c, uint32_t mark)
{
	struct mark_walk w = { 0 };

	if (!model_mark_says(m, mark))
		return NULL;
	struct live *held = xcalloc(c->slots + 1ul, sizeof *held);
	if (mark)
		mark_walk(m, &w, mark, go_on, NULL);
	for (uint32_t s = 0; s < w.slots && s < c->slots; s++)
		held[c->place_of[s]] = w.held[s];
	mark_walk_end(&w);
	return held;
}
