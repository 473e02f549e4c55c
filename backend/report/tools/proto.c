/* SPDX-License-Identifier: MIT
 *
 * proto.c - see report/tools/proto.h. A field is its number and its kind, then a varint or a length
 * and bytes (protobuf.dev/programming-guides/encoding).
 */
#include "report/tools/proto.h"

#include <stdlib.h>
#include <string.h>

enum { KIND_VARINT = 0, KIND_BYTES = 2 };

static void put(struct proto *p, const void *data, size_t len)
{
	GROW(p->data, p->room, p->len + len + 1);
	memcpy(p->data + p->len, data, len);
	p->len += len;
}

void proto_varint(struct proto *p, uint64_t v)
{
	uint8_t out[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	put(p, out, n);
}

void proto_number(struct proto *p, unsigned field, uint64_t v)
{
	if (!v)
		return;
	proto_varint(p, field << 3 | KIND_VARINT);
	proto_varint(p, v);
}

void proto_bytes(struct proto *p, unsigned field, const void *data, size_t len)
{
	proto_varint(p, field << 3 | KIND_BYTES);
	proto_varint(p, len);
	if (len)
		put(p, data, len);
}

void proto_message(struct proto *p, unsigned field, struct proto *inner)
{
	proto_bytes(p, field, inner->data, inner->len);
	inner->len = 0;
}

void proto_release(struct proto *p)
{
	free(p->data);
	*p = (struct proto){ 0 };
}
