/* SPDX-License-Identifier: MIT
 *
 * parts.h - a walk in parts, each over so many elements, which may stop at any of them and go on
 * later. Main thread only.
 */
#ifndef MODEL_PATHS_PARTS_H
#define MODEL_PATHS_PARTS_H

#include "base/base.h"

struct part {
	void (*fn)(void *arg, uint32_t i);
	uint32_t count;
	bool backwards;
};

struct parts { /* zeroed: not begun */
	size_t part;
	uint32_t done; /* of that */
};

#define PARTS_A_LOOK 4096u /* at the clock */

/* Works until end_ns of now_ns(), and makes some progress in any case. True: all is done. */
static inline bool parts_go_on(struct parts *x, const struct part *list, size_t n, void *arg,
			       uint64_t end_ns)
{
	uint32_t seen = 0;

	for (; x->part < n; x->part++, x->done = 0) {
		const struct part *p = &list[x->part];
		for (; x->done < p->count; x->done++) {
			if (seen++ == PARTS_A_LOOK && end_ns != UINT64_MAX) {
				if (now_ns() >= end_ns)
					return false;
				seen = 1;
			}
			p->fn(arg, p->backwards ? p->count - 1 - x->done : x->done);
		}
	}
	return true;
}

#endif
