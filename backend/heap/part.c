/* SPDX-License-Identifier: MIT
 *
 * part.c - a part of a snapshot: the same tree, with the amounts of some of its stacks.
 */
#include "heap/heap.h"
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

static struct sums *part_of_sums(const struct sums *of, const uint64_t *bits,
				 const struct live *live)
{
	struct sums *s = xcalloc(1, sizeof *s);
	struct running_pen pen;
	uint32_t before = 0;

	atomic_init(&s->users, 1);
	s->stacks = of->stacks;
	s->estimate_bits = xmalloc((of->stacks / 64 + 1ul) * sizeof(uint64_t));
	s->estimates_before = xmalloc((of->stacks / 64 + 1ul) * sizeof(uint32_t));
	struct running_reader all = { .of = &of->sum };
	running_begin(&pen, &s->sum, of->stacks);
	for (uint32_t k = 0; k < of->stacks; k++) {
		struct tally own = tally_of_quad(running_next(&all));
		if (!bit_of(bits, k))
			own = (struct tally){ 0 };
		else if (live)
			take_live(&own, &live[k]);
		running_put(&pen, quad_of_tally(&own));
	}
	running_end(&pen);
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
	uint32_t stacks = of->sum.count;
	struct running_reader all = { .of = &of->sum };
	struct running_pen pen;

	atomic_init(&s->users, 1);
	running_begin(&pen, &s->sum, stacks);
	s->held_bits = xmalloc((stacks / 64 + 1ul) * sizeof(uint64_t));
	for (uint32_t k = 0; k < stacks; k++) {
		struct quad own = running_next(&all);
		running_put(&pen, bit_of(bits, k) ? own : (struct quad){ { 0 } });
	}
	running_end(&pen);
	for (uint32_t i = 0; i <= stacks / 64; i++)
		s->held_bits[i] = of->held_bits[i] & bits[i];
	return s;
}

struct choosing {
	const uint64_t *bits;
	struct rates_pen pen;
};

static void choose(void *arg, uint32_t stack, const struct rate *rate)
{
	struct choosing *x = arg;

	if (bit_of(x->bits, stack))
		heap_rates_put(&x->pen, stack, rate);
}

static struct heap_rates *part_of_rates(const struct heap_rates *of, const uint64_t *bits)
{
	struct choosing x = { .bits = bits };

	heap_rates_begin(&x.pen, of->stacks, of->sum.count);
	heap_rates_each(of, choose, &x);
	return heap_rates_end(&x.pen);
}

struct heap *heap_part(const struct heap *h, const uint64_t *bits, const struct live *live)
{
	struct heap *part = xcalloc(1, sizeof *part);

	atomic_init(&part->users, 1);
	part->interval = h->interval;
	part->skeleton = skeleton_hold(h->skeleton);
	part->sums = part_of_sums(h->sums, bits, live);
	part->changes = h->changes ? part_of_changes(h->changes, bits) : NULL;
	part->rates = h->rates ? part_of_rates(h->rates, bits) : NULL;
	if ((part->names = h->names))
		heap_names_hold(h->names);
	if ((part->sites = h->sites))
		users_hold(&h->sites->users);
	if ((part->owners = h->owners))
		users_hold(&h->owners->users);
	return part;
}
