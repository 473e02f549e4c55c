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

/* A mark's cells are those that differ from the mark before. Slots born after it held nothing,
 * whatever the cells say. */
struct live *model_live_at(const struct model *m, const struct columns *c, uint32_t mark)
{
	if (!model_mark_says(m, mark))
		return NULL;
	struct live *held = xcalloc(c->slots + 1ul, sizeof *held);
	for (uint32_t id = 1; id <= mark; id++) {
		const struct mark *k = &m->marks.list[id];

		for (size_t i = 0; mark_in_chain(k) && i < k->cells.count; i++) {
			const struct mark_cell *of = &k->cells.list[i];
			uint32_t slot = idmap_get(&m->trie.slot_ids, of->slot);
			uint32_t at = slot < c->slots ? c->place_of[slot] : NO_ID;

			if (at != NO_ID)
				held[at] = c->epoch[at] > m->marks.list[mark].epoch
						   ? (struct live){ 0 }
						   : (struct live){ of->blocks, of->bytes };
		}
	}
	return held;
}
