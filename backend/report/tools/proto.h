/* SPDX-License-Identifier: MIT
 *
 * proto.h - writes protobuf messages: as much of it as a profile needs. Any thread.
 */
#ifndef REPORT_TOOLS_PROTO_H
#define REPORT_TOOLS_PROTO_H

#include "base/base.h"

struct proto { /* a message under way; all 0: empty */
	uint8_t *data;
	size_t len, room;
};

void proto_varint(struct proto *p, uint64_t v);
/* A field of a number; 0 is left out, as it is the default. */
void proto_number(struct proto *p, unsigned field, uint64_t v);
void proto_bytes(struct proto *p, unsigned field, const void *data, size_t len);
/* A field that is itself a message (or packed numbers), which is empty afterwards. */
void proto_message(struct proto *p, unsigned field, struct proto *inner);
void proto_release(struct proto *p);

#endif
