/* SPDX-License-Identifier: MIT
 *
 * encode.h - encodes the agent's state into frames for a viewer; encode_pump() writes what the
 * viewer lacks. Server thread.
 */
#ifndef MT_ENCODE_ENCODE_H
#define MT_ENCODE_ENCODE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;
struct viewer;

void encode_pump(struct server *s, struct viewer *v, bool tick);
/* Its final state takes long: it is at work, and how far. */
void encode_pulse(struct server *s, struct viewer *v);
void encode_hello(struct server *s, struct viewer *v);

#pragma GCC visibility pop

#endif
