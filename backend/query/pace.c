/* SPDX-License-Identifier: MIT */
#include "query/pace.h"

#include <string.h>

#define POINTS (sizeof((struct pace *)0)->ns / sizeof(uint64_t))
#define SECOND_NS 1000000000u /* at least, between two points */
#define GAP_NS 5000000000u

static void count_from(struct pace *p, size_t i, uint64_t now_ns, const struct tally *sum)
{
	double seconds = (double)(now_ns - p->ns[i]) / 1e9;

	p->calls_rate = (double)(sum->alloc_blocks - p->calls[i]) / seconds;
	p->bytes_rate = (double)(sum->alloc_bytes - p->bytes[i]) / seconds;
}

static void put_point(struct pace *p, uint64_t now_ns, const struct tally *sum)
{
	if (p->count == POINTS) {
		p->count--;
		memmove(p->ns, p->ns + 1, p->count * sizeof *p->ns);
		memmove(p->calls, p->calls + 1, p->count * sizeof *p->calls);
		memmove(p->bytes, p->bytes + 1, p->count * sizeof *p->bytes);
	}
	p->ns[p->count] = now_ns;
	p->calls[p->count] = sum->alloc_blocks;
	p->bytes[p->count++] = sum->alloc_bytes;
}

void pace_add(struct pace *p, uint64_t now_ns, const struct tally *sum)
{
	size_t last = p->count - 1;

	if (p->count && (now_ns < p->ns[last] || now_ns - p->ns[last] > GAP_NS ||
			 sum->alloc_blocks < p->calls[last] || sum->alloc_bytes < p->bytes[last]))
		*p = (struct pace){ .count = 0 };
	if (p->count && now_ns - p->ns[last] < SECOND_NS)
		return;
	p->known = p->count != 0;
	if (p->known) {
		count_from(p, last, now_ns, sum);
		if (p->calls_rate < CALLS_FEW)
			count_from(p, 0, now_ns, sum);
	}
	put_point(p, now_ns, sum);
}
