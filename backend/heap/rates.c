/* SPDX-License-Identifier: MIT
 *
 * rates.c - the rates of a snapshot: often few stacks have one, so only these are kept.
 */
#include "heap/heap.h"

#include <stdlib.h>

void heap_rates_begin(struct rates_pen *p, uint32_t stacks, uint32_t most)
{
	struct heap_rates *r = p->to = xcalloc(1, sizeof *r);

	atomic_init(&r->users, 1);
	r->stacks = stacks;
	r->bits = xcalloc(stacks / 64 + 1ul, sizeof *r->bits);
	r->before = xmalloc((stacks / 64 + 1ul) * sizeof *r->before);
	running_begin(&p->pen, &r->sum, most);
	p->stack = NO_ID;
}

static void end_stack(struct rates_pen *p)
{
	if (p->stack == NO_ID)
		return;
	p->to->bits[p->stack / 64] |= 1ull << p->stack % 64;
	running_put(&p->pen, quad_of_rate(&p->rate));
}

void heap_rates_put(struct rates_pen *p, uint32_t stack, const struct rate *rate)
{
	if (p->stack == stack) {
		rate_add(&p->rate, rate);
		return;
	}
	end_stack(p);
	p->stack = stack;
	p->rate.bytes = rate->bytes; /* one by one, as they were written */
	p->rate.blocks = rate->blocks;
	p->rate.freed = rate->freed;
}

struct heap_rates *heap_rates_end(struct rates_pen *p)
{
	struct heap_rates *r = p->to;
	uint32_t before = 0;

	end_stack(p);
	running_end(&p->pen);
	for (uint32_t i = 0; i <= r->stacks / 64; i++) {
		r->before[i] = before;
		before += (uint32_t)__builtin_popcountll(r->bits[i]);
	}
	if (before)
		return r;
	heap_rates_drop(r);
	return NULL;
}

static struct rate at(const struct heap_rates *r, uint32_t from, uint32_t to)
{
	return rate_of_quad(running_between(&r->sum, from, to));
}

void heap_rates_each(const struct heap_rates *r,
		     void each(void *arg, uint32_t stack, const struct rate *rate), void *arg)
{
	struct running_reader x = { .of = &r->sum };

	for (uint32_t i = 0; i <= r->stacks / 64; i++)
		for (uint64_t left = r->bits[i]; left; left &= left - 1) {
			struct rate own = rate_of_quad(running_next(&x));
			each(arg, i * 64 + (uint32_t)__builtin_ctzll(left), &own);
		}
}

static uint32_t before(const struct heap_rates *r, uint32_t stack)
{
	uint64_t below = r->bits[stack / 64] & ((1ull << stack % 64) - 1);

	return r->before[stack / 64] + (uint32_t)__builtin_popcountll(below);
}

struct rate heap_rates_between(const struct heap_rates *r, uint32_t first, uint32_t end)
{
	uint32_t from = before(r, first), to = before(r, end);

	return from == to ? (struct rate){ 0 } : at(r, from, to);
}

void heap_rates_drop(struct heap_rates *r)
{
	if (!r || !users_drop(&r->users))
		return;
	free(r->bits);
	free(r->before);
	running_release(&r->sum);
	free(r);
}
