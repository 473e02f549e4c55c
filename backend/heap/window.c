/* SPDX-License-Identifier: MIT */
#include "heap/window.h"

#include "heap/columns.h"
#include "heap/room.h"

#include <stdlib.h>

#define ENTRY 3u        /* beside struct rate in a quad */
#define ENTRY_BYTES 30u /* at most: 5 of the slot and of the blocks, 10 of each other number */

const struct window_part *window_part(const struct window *w, uint32_t i)
{
	return &w->parts[(w->first + i) % RATE_PARTS];
}

static void pack(struct window_part *p)
{
	uint8_t *bytes = xmalloc(p->count * ENTRY_BYTES + 1);
	struct mtw_out o = { bytes, bytes + p->count * ENTRY_BYTES, false };

	for (size_t i = 0; i < p->count; i++) {
		mtw_put(&o, p->entries[i].slot);
		mtw_put(&o, p->entries[i].blocks);
		mtw_put(&o, p->entries[i].bytes);
		mtw_put(&o, p->entries[i].freed);
	}
	p->len = (size_t)(o.at - bytes);
	p->packed = xrealloc(bytes, p->len + 1);
	free(p->entries);
	p->entries = NULL;
	p->room = 0;
}

bool window_next(const struct window_part *p, size_t *at, struct rate_entry *e)
{
	struct mtw_in in = { p->packed + *at, p->packed + p->len, false };

	if (!p->packed) {
		if (*at < p->count)
			*e = p->entries[*at];
		return (*at)++ < p->count;
	}
	if (*at >= p->len)
		return false;
	e->slot = (uint32_t)mtw_get(&in);
	e->blocks = (uint32_t)mtw_get(&in);
	e->bytes = mtw_get(&in);
	e->freed = mtw_get(&in);
	*at = (size_t)(in.at - p->packed);
	return true;
}

void window_open(struct window *w)
{
	if (w->count == RATE_PARTS)
		return;
	if (w->count)
		pack(&w->parts[(w->first + w->count - 1) % RATE_PARTS]);
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

static void put_rate(struct columns *c, struct narrow *at, const struct rate *sum, uint64_t entry)
{
	struct quad r = quad_of_rate(sum);

	r.n[ENTRY] = entry;
	narrow_set(at, &c->rate_wide, r);
}

void window_add(struct columns *c, uint32_t slot, const struct rate *change)
{
	struct window *w = &c->window;

	if (!w->count || !rate_any(change))
		return;
	struct window_part *p = &w->parts[(w->first + w->count - 1) % RATE_PARTS];
	struct narrow *at = rate_at(c, slot);
	struct quad r = narrow_get(at, &c->rate_wide);
	struct rate sum = rate_of_quad(r);
	struct rate_entry *e = r.n[ENTRY] < p->count ? &p->entries[r.n[ENTRY]] : NULL;
	bool had = rate_any(&sum);

	if (!e || e->slot != slot || change->blocks > UINT32_MAX - e->blocks) {
		GROW(p->entries, p->room, p->count + 1);
		r.n[ENTRY] = p->count;
		e = &p->entries[p->count++];
		*e = (struct rate_entry){ .slot = slot };
	}
	e->bytes += change->bytes;
	e->blocks += (uint32_t)change->blocks;
	e->freed += change->freed;
	rate_add(&sum, change);
	put_rate(c, at, &sum, r.n[ENTRY]);
	note(c, slot, had, rate_any(&sum));
}

FETCHES expect(const struct columns *c, uint32_t slot, unsigned step)
{
	const struct window *w = &c->window;

	if (slot >= c->slots->count || !c->rate || !w->count)
		return;
	if (step == 0) {
		columns_expect(c, slot);
		return;
	}
	const struct narrow *r = &c->rate[c->place_of[slot]];
	const struct window_part *p = window_part(w, w->count - 1);
	if (step == 1)
		__builtin_prefetch(r, 1);
	else if (r->n[ENTRY] < p->count)
		__builtin_prefetch(&p->entries[r->n[ENTRY]], 1);
}

void window_expect(const struct columns *c, uint32_t slot, unsigned step)
{
	expect(c, slot, step);
}

static void take_back(struct columns *c, const struct rate_entry *e)
{
	struct narrow *at = rate_at(c, e->slot);
	struct quad r = narrow_get(at, &c->rate_wide);
	struct rate sum = rate_of_quad(r);
	bool had = rate_any(&sum);

	sum = rate_sub(&sum, &(struct rate){ e->bytes, e->blocks, e->freed });
	put_rate(c, at, &sum, r.n[ENTRY]);
	note(c, e->slot, had, rate_any(&sum));
}

void window_end(struct columns *c)
{
	struct window *w = &c->window;

	if (!w->count)
		return;
	struct window_part *p = &w->parts[w->first];
	enum { STEP = COLUMNS_AHEAD, RING = 4 * STEP };
	struct rate_entry e[RING];
	size_t at = 0, read = 0;
	bool more = true;
	for (size_t i = 0; more || i < read; i++) {
		for (; more && read <= i + 2ul * STEP; read += more)
			if ((more = window_next(p, &at, &e[read % RING])))
				expect(c, e[read % RING].slot, 0);
		if (i + STEP < read)
			expect(c, e[(i + STEP) % RING].slot, 1);
		if (i < read)
			take_back(c, &e[i % RING]);
	}
	free(p->entries);
	free(p->packed);
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
	for (uint32_t i = 0; i < RATE_PARTS; i++) {
		free(w->parts[i].entries);
		free(w->parts[i].packed);
	}
}
