/* SPDX-License-Identifier: MIT
 *
 * slots.h - what the columns of a model have, by the wire's ids.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include "model/columns.h"
#include "model/model.h"

/* A slot's counters as of the last tick; 0: there is none. */
static inline struct tally made_now(const struct model *m, uint32_t slot)
{
	const struct columns *c = model_columns(m);
	uint32_t arrival = slots_find(c->slots, slot);

	return arrival == NO_ID ? (struct tally){ 0 } : columns_now(c, arrival);
}

static inline struct live made_live_of(const struct model *m, uint32_t slot)
{
	struct tally t = made_now(m, slot);

	return (struct live){ live_blocks(&t), live_bytes(&t) };
}

static inline bool made_has_slot(const struct model *m, uint32_t slot)
{
	return slots_find(model_columns(m)->slots, slot) != NO_ID;
}

static inline uint32_t made_epoch(const struct model *m, uint32_t slot)
{
	const struct columns *c = model_columns(m);

	return columns_epoch(c, slots_find(c->slots, slot));
}

/* How many nodes there are. */
static inline uint32_t made_nodes(const struct model *m)
{
	return model_columns(m)->skeleton->nodes;
}

/* Where the node's code is. */
static inline const struct location *made_place(const struct model *m, uint32_t node)
{
	const struct skeleton *s = model_columns(m)->skeleton;

	return model_location(m, s->location[skeleton_find(s, node)]);
}

#endif
