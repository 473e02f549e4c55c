/* SPDX-License-Identifier: MIT */
#include "heap/window.h"

#include "heap/columns.h"
#include "heap/room.h"

#include <stdlib.h>

#define ENTRY_BYTES 36u /* at most */
#define UNSUMMED 4096u  /* entries of a part that may have more than one of a slot */

const struct window_part *window_part(const struct window *w, uint32_t i)
{
	return &w->parts[(w->first + i) % RATE_PARTS];
}

static void put(struct window_part *p, uint64_t n)
{
	do {
		uint8_t unit = (uint8_t)((n & 7) | (n > 7 ? 8 : 0));

		if (p->len % 2)
			p->bytes[p->len / 2] |= (uint8_t)(unit << 4);
		else
			p->bytes[p->len / 2] = unit;
		p->len++;
	} while (n >>= 3);
}

static uint64_t get(const struct window_part *p, size_t *at)
{
	uint64_t n = 0;
	uint8_t unit;

	for (unsigned shift = 0;; shift += 3) {
		unit = p->bytes[*at / 2] >> *at % 2 * 4;
		++*at;
		n |= (uint64_t)(unit & 7) << shift;
		if (!(unit & 8))
			return n;
	}
}

/* Steps of slots are modulo 2^32: up alone where they are summed, else with the sign in the lowest
 * bit. even: all bytes are of blocks of one size, which then comes instead of the bytes. */
static void append(struct window_part *p, const struct rate_entry *e, bool up)
{
	uint32_t step = e->slot - p->last;
	uint64_t size = e->blocks ? e->bytes / e->blocks : 0;
	bool even = size && size * e->blocks == e->bytes && e->freed % size == 0;

	GROW(p->bytes, p->room, p->len / 2 + ENTRY_BYTES);
	put(p, (uint64_t)(up ? step : step << 1 ^ (step >> 31 ? UINT32_MAX : 0)) << 1 | even);
	put(p, e->blocks);
	put(p, even ? size : e->bytes);
	put(p, even ? e->freed / size : e->freed);
	p->last = e->slot;
	p->count++;
}

bool window_next(const struct window_part *p, struct window_at *at, struct rate_entry *e)
{
	if (at->count >= p->count)
		return false;
	uint64_t head = get(p, &at->at);
	uint32_t step = (uint32_t)(head >> 1);
	bool even = head & 1, up = at->count++ < p->summed;

	e->slot = at->last += up ? step : step >> 1 ^ (step & 1 ? UINT32_MAX : 0);
	e->blocks = (uint32_t)get(p, &at->at);
	e->bytes = get(p, &at->at) * (even ? e->blocks : 1);
	e->freed = get(p, &at->at) * (even ? e->bytes / e->blocks : 1);
	return true;
}

/* The entries of each slot together, by slot: its place is the number of slots before it. */
struct summing {
	uint64_t *bits;
	uint32_t *before; /* of slots 64 * i */
	struct rate *sums;
	uint32_t words;
};

static struct rate *sum_of(const struct summing *x, uint32_t slot)
{
	uint64_t below = x->bits[slot / 64] & ((1ull << slot % 64) - 1);

	return &x->sums[x->before[slot / 64] + (uint32_t)__builtin_popcountll(below)];
}

static struct summing add_up(const struct window_part *p)
{
	struct summing x = { 0 };
	struct rate_entry e;
	uint32_t most = 0, count = 0;

	for (struct window_at at = { 0 }; window_next(p, &at, &e);)
		most = e.slot > most ? e.slot : most;
	x.words = most / 64 + 1;
	x.bits = xcalloc(x.words, sizeof *x.bits);
	x.before = xmalloc(x.words * sizeof *x.before);
	for (struct window_at at = { 0 }; window_next(p, &at, &e);)
		x.bits[e.slot / 64] |= 1ull << e.slot % 64;
	for (uint32_t i = 0; i < x.words; i++) {
		x.before[i] = count;
		count += (uint32_t)__builtin_popcountll(x.bits[i]);
	}
	x.sums = xcalloc(count + 1ul, sizeof *x.sums);
	for (struct window_at at = { 0 }; window_next(p, &at, &e);)
		rate_add(sum_of(&x, e.slot), &(struct rate){ e.bytes, e.blocks, e.freed });
	return x;
}

/* An entry has 32 bits of blocks. */
static void put_sum(struct window_part *p, uint32_t slot, struct rate sum)
{
	for (; sum.blocks > UINT32_MAX; sum.blocks -= UINT32_MAX)
		append(p, &(struct rate_entry){ .slot = slot, .blocks = UINT32_MAX }, true);
	append(p, &(struct rate_entry){ sum.bytes, sum.freed, (uint32_t)sum.blocks, slot }, true);
}

static void sum_up(struct window_part *p)
{
	struct window_part to = { 0 };

	if (p->summed == p->count)
		return;
	struct summing x = add_up(p);
	const struct rate *sum = x.sums;
	for (uint32_t i = 0; i < x.words; i++)
		for (uint64_t left = x.bits[i]; left; left &= left - 1)
			put_sum(&to, i * 64 + (uint32_t)__builtin_ctzll(left), *sum++);
	to.summed = to.count;
	to.room = to.len / 2 + 1;
	to.bytes = xrealloc(to.bytes, to.room);
	free(x.bits);
	free(x.before);
	free(x.sums);
	free(p->bytes);
	*p = to;
}

void window_open(struct window *w)
{
	if (w->count == RATE_PARTS)
		return;
	if (w->count)
		sum_up(&w->parts[(w->first + w->count - 1) % RATE_PARTS]);
	w->count++;
}

static struct narrow *rate_at(struct columns *c, uint32_t slot)
{
	uint32_t placed = c->slots->count;

	if (slot >= placed) {
		GROW(c->rates_came, c->rates_room, slot - placed + 1ul);
		return &c->rates_came[slot - placed];
	}
	if (!c->rate) {
		c->rate = room_large(placed + 1ul, sizeof *c->rate);
		c->rated_bits = xcalloc(placed / 64 + 1ul, sizeof *c->rated_bits);
	}
	return &c->rate[c->place_of[slot]];
}

/* It had a rate, or not, and has one now, or not. */
static void note(struct columns *c, uint32_t slot, bool had, bool has)
{
	c->rated += (uint32_t)has - (uint32_t)had;
	if (slot >= c->slots->count)
		return;
	uint32_t at = c->place_of[slot];
	if (has)
		c->rated_bits[at / 64] |= 1ull << at % 64;
	else
		c->rated_bits[at / 64] &= ~(1ull << at % 64);
}

bool window_has(const struct columns *c, const struct narrow *rate)
{
	struct rate sum = rate_of_quad(narrow_get(rate, &c->rate_wide));

	return rate_any(&sum);
}

/* Adds to what the slot did in all parts, or takes it away. */
static void book(struct columns *c, uint32_t slot, const struct rate *change, bool away)
{
	struct narrow *at = rate_at(c, slot);
	struct rate sum = rate_of_quad(narrow_get(at, &c->rate_wide));
	bool had = rate_any(&sum);

	if (away)
		sum = rate_sub(&sum, change);
	else
		rate_add(&sum, change);
	narrow_set(at, &c->rate_wide, quad_of_rate(&sum));
	note(c, slot, had, rate_any(&sum));
}

void window_add(struct columns *c, uint32_t slot, const struct rate *change)
{
	struct window *w = &c->window;

	if (!w->count || !rate_any(change))
		return;
	struct window_part *p = &w->parts[(w->first + w->count - 1) % RATE_PARTS];
	append(p,
	       &(struct rate_entry){ change->bytes, change->freed, (uint32_t)change->blocks, slot },
	       false);
	book(c, slot, change, false);
	if (p->count > 2 * p->summed + UNSUMMED)
		sum_up(p);
}

FETCHES expect(const struct columns *c, uint32_t slot, unsigned step)
{
	if (slot >= c->slots->count || !c->rate)
		return;
	if (step == 0)
		columns_expect(c, slot);
	else
		__builtin_prefetch(&c->rate[c->place_of[slot]], 1);
}

void window_expect(const struct columns *c, uint32_t slot, unsigned step)
{
	expect(c, slot, step);
}

void window_end(struct columns *c)
{
	struct window *w = &c->window;

	if (!w->count)
		return;
	struct window_part *p = &w->parts[w->first];
	enum { STEP = COLUMNS_AHEAD, RING = 4 * STEP };
	struct rate_entry e[RING];
	struct window_at at = { 0 };
	size_t read = 0;
	bool more = true;
	for (size_t i = 0; more || i < read; i++) {
		for (; more && read <= i + 2ul * STEP; read += more)
			if ((more = window_next(p, &at, &e[read % RING])))
				expect(c, e[read % RING].slot, 0);
		if (i + STEP < read)
			expect(c, e[(i + STEP) % RING].slot, 1);
		if (i < read) {
			const struct rate_entry *x = &e[i % RING];
			book(c, x->slot, &(struct rate){ x->bytes, x->blocks, x->freed }, true);
		}
	}
	free(p->bytes);
	*p = (struct window_part){ 0 };
	w->first = (w->first + 1) % RATE_PARTS;
	w->count--;
	if (c->rated)
		return;
	free(c->rate);
	free(c->rates_came);
	free(c->rated_bits);
	wide_release(&c->rate_wide);
	c->rate = c->rates_came = NULL;
	c->rates_room = 0;
	c->rated_bits = NULL;
}

void window_release(struct window *w)
{
	for (uint32_t i = 0; i < RATE_PARTS; i++)
		free(w->parts[i].bytes);
}
