/* SPDX-License-Identifier: MIT */
#include "model/columns.h"
#include "model/internal.h"

void model_columns(const struct model *m, struct columns *c)
{
	const struct trie *t = &m->trie;

	columns_init(c);
	for (uint32_t i = 1; i < model_dense_count(m); i++) {
		uint32_t id;
		const struct node *n = model_dense(m, i, &id);

		columns_add_node(c, n->parent, n->location, id, n->by_pointer);
	}
	for (uint32_t s = 0; s < t->slot_count; s++)
		columns_add_slot(c, slot_at(t, s)->node, slot_at(t, s)->epoch);
	columns_settle(c);
	/* A stack that has ever held estimates has them for good; the model keeps that by node. */
	for (uint32_t s = 0; s < t->slot_count; s++)
		columns_count(c, s, &slot_at(t, s)->now,
			      node_at(t, slot_at(t, s)->node)->self_estimate);
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
