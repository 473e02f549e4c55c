/* SPDX-License-Identifier: MIT
 *
 * decode.h - one frame's payload -> events (model/paths/event.h). No I/O, no state, any input is
 * safe (fuzzed).
 */
#ifndef WIRE_DECODE_H
#define WIRE_DECODE_H

#include "model/paths/event.h"

/*
 * Calls fn for each event of the frame (a batch frame gives one event per entry). 0; -1 and *err
 * when the payload is malformed (events before the fault were delivered) or fn returned non-zero.
 * Unknown types give no event and no error.
 */
int wire_read(uint64_t type, const uint8_t *payload, size_t len,
	      int (*fn)(void *arg, const struct event *e, struct err *err), void *arg,
	      struct err *err);

#endif
