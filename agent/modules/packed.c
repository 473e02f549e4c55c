/* SPDX-License-Identifier: MIT
 *
 * packed.c - reads relocations as Android's linkers pack them (lld and gold:
 * --pack-dyn-relocs=android).
 *
 * The table begins with "APS2", followed by signed LEB128 numbers: the count of relocations, the
 * offset that the first is relative to, then groups until the count is reached:
 *
 *     size flags [offset delta] [info] [addend delta] size x { [offset delta] [info] [addend delta]
 *     }
 *
 * Fields that a flag marks as common to the group stand once, in front; the others stand in each
 * member. Offsets and addends are differences to the previous one. The source is the format's
 * description in AOSP (bionic's linker, "packed relocations"). A test decodes the output of
 * Debian's lld and compares it with the same object unpacked.
 */
#include "modules/packed.h"
#include "base/types.h"

#include <string.h>

#define COMMON_INFO 1
#define COMMON_OFFSET_DELTA 2
#define COMMON_ADDEND 4
#define HAS_ADDEND 8

struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static intptr_t number(struct reader *r)
{
	uintptr_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		if (r->at >= r->end || shift >= 8 * sizeof(v) + 6) {
			r->bad = true;
			return 0;
		}
		b = *r->at++;
		if (shift < 8 * sizeof(v))
			v |= (uintptr_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (b & 0x40 && shift < 8 * sizeof(v))
		v |= ~(uintptr_t)0 << shift;
	return (intptr_t)v;
}

bool mt_packed_each(const void *table, size_t bytes, packed_visit visit, void *arg)
{
	struct reader r = { table, (const uint8_t *)table + bytes, false };
	uintptr_t offset, info = 0, addend = 0;

	if (bytes < 4 || memcmp(table, "APS2", 4))
		return false;
	r.at += 4;
	uintptr_t left = (uintptr_t)number(&r);
	offset = (uintptr_t)number(&r);
	while (left && !r.bad) {
		uintptr_t size = (uintptr_t)number(&r), flags = (uintptr_t)number(&r), delta = 0;
		if (!size || size > left || flags > 15)
			return false;
		if (flags & COMMON_OFFSET_DELTA)
			delta = (uintptr_t)number(&r);
		if (flags & COMMON_INFO)
			info = (uintptr_t)number(&r);
		if (!(flags & HAS_ADDEND))
			addend = 0;
		else if (flags & COMMON_ADDEND)
			addend += (uintptr_t)number(&r);
		for (left -= size; size && !r.bad; size--) {
			offset += flags & COMMON_OFFSET_DELTA ? delta : (uintptr_t)number(&r);
			if (!(flags & COMMON_INFO))
				info = (uintptr_t)number(&r);
			if ((flags & HAS_ADDEND) && !(flags & COMMON_ADDEND))
				addend += (uintptr_t)number(&r);
			if (!r.bad && !visit(arg, offset, info, (intptr_t)addend))
				return true;
		}
	}
	return !r.bad;
}
