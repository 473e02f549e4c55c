/* SPDX-License-Identifier: MIT
 *
 * arrived.h - changes of ticks that are not taken in yet: first in, first out.
 */
#ifndef QUERY_ARRIVED_H
#define QUERY_ARRIVED_H

#include "model/model.h"

/* Changes of nodes' own values by ticks. */
struct arrivals {
	struct arrived_list *first, *last;
	size_t left;
};

/* takes the list over; not an empty one */
void arrivals_push(struct arrivals *a, struct model_changes *changes);
const struct model_delta *arrivals_first(struct arrivals *a); /* NULL = none */
/* a later change of the first's tick; NULL = past it */
const struct model_delta *arrivals_ahead(const struct arrivals *a, size_t by);
void arrivals_taken(struct arrivals *a); /* removes the first */
void arrivals_forget(struct arrivals *a);

#endif
