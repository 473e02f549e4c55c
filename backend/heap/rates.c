/* SPDX-License-Identifier: MIT
 *
 * rates.c - the rates of a snapshot: few stacks have one, so only these are kept.
 */
#include "heap/heap.h"
#include "heap/room.h"

#include <stdlib.h>

void heap_rates_begin(struct rate_sums *r, uint32_t stacks)
{
	r->stacks = stacks;
	r->of = xcalloc(stacks + 1ul, sizeof *r->of); /* untouched where there is none */
	r->bits = xcalloc(stacks / 64 + 1ul, sizeof *r->bits);
}

void heap_rates_add(struct rate_sums *r, uint32_t stack, const struct rate *rate)
{
	r->bits[stack / 64] |= 1ull << stack % 64;
	rate_add(&r->of[stack], rate);
}

struct heap_rates *heap_rates_end(struct rate_sums *r)
{
	struct heap_rates *to = xcalloc(1, sizeof *to);
	struct rate sum = { 0 };
	uint32_t at = 0;

	atomic_init(&to->users, 1);
	to->bits = r->bits;
	to->before = xmalloc((r->stacks / 64 + 1ul) * sizeof *to->before);
	for (uint32_t i = 0; i <= r->stacks / 64; i++) {
		to->before[i] = to->count;
		to->count += (uint32_t)__builtin_popcountll(r->bits[i]);
	}
	to->stack = xmalloc((to->count + 1ul) * sizeof *to->stack);
	to->sum = room_take((to->count + 1ul) * sizeof *to->sum);
	for (uint32_t i = 0; i <= r->stacks / 64; i++)
		for (uint64_t left = r->bits[i]; left; left &= left - 1) {
			uint32_t k = i * 64 + (uint32_t)__builtin_ctzll(left);

			to->stack[at] = k;
			to->sum[at++] = sum;
			rate_add(&sum, &r->of[k]);
		}
	to->sum[at] = sum;
	free(r->of);
	if (at)
		return to;
	heap_rates_drop(to);
	return NULL;
}
