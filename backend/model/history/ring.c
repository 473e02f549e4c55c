/* SPDX-License-Identifier: MIT */
#include "model/history/history.h"

void ring_push(struct ring *r, uint64_t time_ns, const struct tally *sum)
{
	size_t room = sizeof r->at / sizeof r->at[0];

	if (r->count == room) {
		r->first = (r->first + 1) % room;
		r->count--;
	}
	size_t at = (r->first + r->count++) % room;
	r->at[at].time_ns = time_ns;
	r->at[at].sum = *sum;
}

struct rates ring_over(const struct ring *r, uint64_t window)
{
	size_t room = sizeof r->at / sizeof r->at[0];

	if (r->count < 2)
		return (struct rates){ 0 };
	size_t last = (r->first + r->count - 1) % room, from = r->first;
	for (size_t i = r->count - 1; i-- > 0;) {
		from = (r->first + i) % room;
		if (r->at[last].time_ns - r->at[from].time_ns >= window)
			break;
	}
	double s = (double)(r->at[last].time_ns - r->at[from].time_ns) / 1e9;
	if (s <= 0)
		return (struct rates){ 0 };
	struct tally d = tally_sub(&r->at[last].sum, &r->at[from].sum);
	return (struct rates){ (double)d.alloc_bytes / s, (double)d.alloc_blocks / s,
			       (double)d.free_bytes / s, (double)d.free_blocks / s, true };
}
