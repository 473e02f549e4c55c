/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "report/tools/proto.h"

#include <string.h>

static void check_bytes(struct proto *p, const char *want, size_t len)
{
	CHECK_EQ(p->len, len);
	CHECK(!memcmp(p->data, want, len));
	proto_release(p);
}

TEST(numbers_are_varints)
{
	struct proto p = { 0 };

	proto_varint(&p, 0);
	proto_varint(&p, 127);
	proto_varint(&p, 300); /* the example of protobuf's own description */
	proto_varint(&p, UINT64_MAX);
	check_bytes(&p, "\x00\x7f\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
}

TEST(fields_have_number_and_kind)
{
	struct proto p = { 0 }, inner = { 0 };

	proto_number(&p, 1, 150);
	proto_number(&p, 2, 0); /* the default is left out */
	proto_bytes(&p, 2, "testing", 7);
	proto_number(&inner, 1, 150);
	proto_message(&p, 3, &inner);
	CHECK_EQ(inner.len, 0);
	proto_message(&p, 16, &inner);
	check_bytes(&p, "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01\x82\x01\x00", 20);
	proto_release(&inner);
}
