/* SPDX-License-Identifier: MIT
 *
 * locations.h - the code locations that nodes point to. Main thread only.
 */
#ifndef MODEL_PATHS_LOCATIONS_H
#define MODEL_PATHS_LOCATIONS_H

#include "base/map.h"
#include "model/paths/types.h"
#include "model/paths/quota.h"

struct locations {
	struct location *list;
	uint32_t *next; /* of the same hash; NO_ID ends */
	size_t count, room, next_room;
	struct map by_hash;
};

/* NO_ID: no node points to it */
uint32_t locations_find(const struct locations *l, uint32_t module, uint64_t offset, uint8_t kind);
const struct location *locations_at(const struct locations *l, uint32_t number);
/* NO_ID and *err */
uint32_t locations_enter(struct locations *l, struct quota *q, uint32_t module, uint64_t offset,
			 uint8_t kind, struct err *err);
void locations_clear(struct locations *l);

#endif
