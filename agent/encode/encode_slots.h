/* SPDX-License-Identifier: MIT
 *
 * encode_slots.h - slots and their paths, in frames sorted by id. Server thread.
 */
#ifndef MT_ENCODE_ENCODE_SLOTS_H
#define MT_ENCODE_ENCODE_SLOTS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;
struct viewer;

bool encode_slots_init(struct server *s);
bool encode_slots_list(struct server *s, struct viewer *v); /* first state; false = out of memory */
void encode_slots_first(struct server *s, struct viewer *v,
			size_t room); /* more of the first state */
bool encode_slots_sweep(struct server *s,
			struct viewer *v); /* sends changes; true = nothing is left */
void encode_slots_modules(struct server *s, struct viewer *v);

#pragma GCC visibility pop

#endif
