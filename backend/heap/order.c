/* SPDX-License-Identifier: MIT
 *
 * order.c - sorts all stacks by live bytes: a radix sort (least digit first, as Knuth, TAOCP 5.2.5
 * has it), which is stable and takes as many passes as the largest amount has digits.
 */
#include "heap/heap.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT 11u
#define VALUES (1u << DIGIT)

/* The largest digit first, hence VALUES - 1 - digit. */
static void pass(const uint64_t *live, unsigned shift, const uint32_t *from, uint32_t *to,
		 uint32_t count)
{
	uint32_t next[VALUES + 1] = { 0 };

	for (uint32_t i = 0; i < count; i++)
		next[VALUES - (live[from[i]] >> shift & (VALUES - 1))]++;
	for (uint32_t v = 1; v <= VALUES; v++)
		next[v] += next[v - 1];
	for (uint32_t i = 0; i < count; i++)
		to[next[VALUES - 1 - (live[from[i]] >> shift & (VALUES - 1))]++] = from[i];
}

void heap_order(const struct heap *h, uint32_t *stacks)
{
	uint32_t count = h->sums->stacks, *from = stacks, *to = xmalloc((count + 1ul) * sizeof *to);
	uint32_t *spare = to;
	uint64_t *live = xmalloc((count + 1ul) * sizeof *live), most = 0;

	struct running_reader all = { .of = &h->sums->sum };
	for (uint32_t k = 0; k < count; k++) {
		struct tally t = tally_of_quad(running_next(&all));
		live[k] = live_bytes(&t);
		most = live[k] > most ? live[k] : most;
		stacks[k] = k;
	}
	for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT) {
		pass(live, shift, from, to, count);
		uint32_t *done = to;
		to = from;
		from = done;
	}
	if (from != stacks)
		memcpy(stacks, from, count * sizeof *stacks);
	free(live);
	free(spare);
}
