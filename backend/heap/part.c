/* SPDX-License-Identifier: MIT
 *
 * part.c - a part of a snapshot: the same tree, with the amounts of some of its stacks.
 */
#include "heap/heap.h"
#include "heap/room.h"
#include "heap/sites.h"

#include <stdlib.h>

/* As many blocks were allocated as are alive, at least. */
static void take_live(struct tally *t, const struct live *live)
{
	t->alloc_blocks = t->alloc_blocks > live->blocks ? t->alloc_blocks : live->blocks;
	t->alloc_bytes = t->alloc_bytes > live->bytes ? t->alloc_bytes : live->bytes;
	t->free_blocks = t->alloc_blocks - live->blocks;
	t->free_bytes = t->alloc_bytes - live->bytes;
}

static struct sums *part_of_sums(const struct heap *h, const uint64_t *bits,
				 const struct live *live)
{
	const struct sums *of = h->sums;
	struct sums *s = xcalloc(1, sizeof *s);
	struct tally sum = { 0 };
	uint32_t before = 0;

	atomic_init(&s->users, 1);
	s->stacks = of->stacks;
	s->sum = room_take((of->stacks + 1ul) * sizeof *s->sum);
	s->estimate_bits = xmalloc((of->stacks / 64 + 1ul) * sizeof(uint64_t));
	s->estimates_before = xmalloc((of->stacks / 64 + 1ul) * sizeof(uint32_t));
	for (uint32_t k = 0; k < of->stacks; k++) {
		s->sum[k] = sum;
		if (!bit_of(bits, k))
			continue;
		struct tally own = heap_of_stack(h, k);
		if (live)
			take_live(&own, &live[k]);
		tally_add(&sum, &own);
	}
	s->sum[of->stacks] = sum;
	for (uint32_t i = 0; i <= of->stacks / 64; i++) {
		s->estimate_bits[i] = of->estimate_bits[i] & bits[i];
		s->estimates_before[i] = before;
		before += (uint32_t)__builtin_popcountll(s->estimate_bits[i]);
	}
	return s;
}

static struct changes *part_of_changes(const struct changes *of, const uint64_t *bits)
{
	struct changes *s = xcalloc(1, sizeof *s);
	struct change sum = { 0 };

	atomic_init(&s->users, 1);
	s->stacks = of->stacks;
	s->sum = room_take((of->stacks + 1ul) * sizeof *s->sum);
	s->held_bits = xmalloc((of->stacks / 64 + 1ul) * sizeof(uint64_t));
	for (uint32_t k = 0; k < of->stacks; k++) {
		s->sum[k] = sum;
		if (!bit_of(bits, k))
			continue;
		struct change own = change_sub(&of->sum[k + 1], &of->sum[k]);
		change_add(&sum, &own);
	}
	s->sum[of->stacks] = sum;
	for (uint32_t i = 0; i <= of->stacks / 64; i++)
		s->held_bits[i] = of->held_bits[i] & bits[i];
	return s;
}

static struct heap_rates *part_of_rates(const struct heap_rates *of, const uint64_t *bits,
					uint32_t stacks)
{
	struct heap_rates *to = heap_rates_new(stacks, of->count);

	for (uint32_t i = 0; i < of->count; i++) {
		struct rate own = rate_sub(&of->sum[i + 1], &of->sum[i]);
		if (bit_of(bits, of->stack[i]))
			heap_rates_put(to, of->stack[i], &own);
	}
	return heap_rates_end(to, stacks);
}

struct heap *heap_part(const struct heap *h, const uint64_t *bits, const struct live *live)
{
	struct heap *part = xcalloc(1, sizeof *part);

	atomic_init(&part->users, 1);
	part->interval = h->interval;
	part->skeleton = skeleton_hold(h->skeleton);
	part->sums = part_of_sums(h, bits, live);
	part->changes = h->changes ? part_of_changes(h->changes, bits) : NULL;
	part->rates = h->rates ? part_of_rates(h->rates, bits, h->sums->stacks) : NULL;
	if ((part->names = h->names))
		heap_names_hold(h->names);
	if ((part->sites = h->sites))
		users_hold(&h->sites->users);
	if ((part->owners = h->owners))
		users_hold(&h->owners->users);
	return part;
}
