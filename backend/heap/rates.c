/* SPDX-License-Identifier: MIT
 *
 * rates.c - the rates of a snapshot: few stacks have one, so only these are kept.
 */
#include "heap/heap.h"
#include "heap/room.h"

#include <stdlib.h>

struct heap_rates *heap_rates_new(uint32_t stacks, uint32_t most)
{
	struct heap_rates *r = xcalloc(1, sizeof *r);

	atomic_init(&r->users, 1);
	r->bits = xcalloc(stacks / 64 + 1ul, sizeof *r->bits);
	r->before = xmalloc((stacks / 64 + 1ul) * sizeof *r->before);
	r->stack = xmalloc((most + 1ul) * sizeof *r->stack);
	r->sum = room_take((most + 1ul) * sizeof *r->sum);
	r->sum[0] = (struct rate){ 0 };
	return r;
}

void heap_rates_put(struct heap_rates *r, uint32_t stack, const struct rate *rate)
{
	if (!r->count || r->stack[r->count - 1] != stack) {
		r->bits[stack / 64] |= 1ull << stack % 64;
		r->stack[r->count] = stack;
		r->sum[r->count + 1] = r->sum[r->count];
		r->count++;
	}
	rate_add(&r->sum[r->count], rate);
}

struct heap_rates *heap_rates_end(struct heap_rates *r, uint32_t stacks)
{
	uint32_t before = 0;

	if (!r->count) {
		heap_rates_drop(r);
		return NULL;
	}
	for (uint32_t i = 0; i <= stacks / 64; i++) {
		r->before[i] = before;
		before += (uint32_t)__builtin_popcountll(r->bits[i]);
	}
	return r;
}
