/* SPDX-License-Identifier: MIT
 *
 * rate.c - what was allocated and freed in the last ten seconds: the one window of all rates.
 *
 * The window consists of parts of about a second. A tick's changes are added to the newest part,
 * and a part is taken back as a whole once it ended ten seconds ago. So the window is ten to eleven
 * seconds long, less after a start, and more when ticks are rare. Rates are kept as exact counts:
 * who shows one divides it by the window's length (model_window()), and rows add up to the totals
 * at any speed. Nothing before a link's first complete state counts: that is history.
 *
 * Parts, and not the ticks themselves, because a busy slot changes in each of a hundred ticks: it
 * has one entry a second. slot.rated finds it.
 */
#include "model/paths/rate.h"

#include <stdlib.h>

#define PART_NS (RATE_WINDOW_NS / 10)

struct rate rate_of(const struct tally *grown)
{
	if (grown->alloc_blocks > UINT32_MAX || (grown->alloc_bytes | grown->free_bytes) >> 62)
		return (struct rate){ 0 };
	return (struct rate){ grown->alloc_bytes, grown->alloc_blocks, grown->free_bytes };
}

const struct rate_part *rates_part(const struct rate_book *r, size_t i)
{
	return &r->parts[(r->first + i) % RATE_PARTS];
}

struct rate_part *rates_newest(struct rate_book *r)
{
	return r->count ? &r->parts[(r->first + r->count - 1) % RATE_PARTS] : NULL;
}

size_t rates_due(const struct rate_book *r, uint64_t before_ns, uint64_t now)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		uint64_t end = i + 1 < r->count ? rates_part(r, i + 1)->begin_ns : before_ns;
		/* a full ring expires early, of a peer whose clock jumps */
		if (end + RATE_WINDOW_NS > now && r->count - i < RATE_PARTS)
			break;
	}
	return i;
}

struct rate_entry *rates_drop(struct rate_book *r, size_t *count)
{
	struct rate_part *p = &r->parts[r->first];
	struct rate_entry *entries = p->entries;

	*count = p->count;
	free(p->threads);
	*p = (struct rate_part){ 0 };
	r->first = (r->first + 1) % RATE_PARTS;
	r->count--;
	return entries;
}

struct rate_part *rates_open(struct rate_book *r, uint64_t before_ns, const struct tally *before)
{
	if (r->count && before_ns < rates_newest(r)->begin_ns + PART_NS)
		return NULL;
	r->count++;
	*rates_newest(r) = (struct rate_part){ .begin_ns = before_ns, .before = *before };
	return rates_newest(r);
}

void rates_expect(const struct rate_book *r, const struct slot *s)
{
	const struct rate_part *p = r->count ? rates_part(r, r->count - 1) : NULL;

	if (p && s->rated < p->count)
		__builtin_prefetch(&p->entries[s->rated], 1);
}

void rates_enter(struct rate_book *r, struct slot *s, uint32_t slot, const struct rate *change)
{
	struct rate_part *p = rates_newest(r);

	if (!(change->bytes | change->blocks | change->freed))
		return;
	struct rate_entry *e = s->rated < p->count ? &p->entries[s->rated] : NULL;
	if (!e || e->slot != slot || change->blocks > UINT32_MAX - e->blocks) {
		GROW(p->entries, p->room, p->count + 1);
		s->rated = (uint32_t)p->count;
		e = &p->entries[p->count++];
		*e = (struct rate_entry){ .slot = slot };
	}
	e->bytes += change->bytes;
	e->blocks += (uint32_t)change->blocks;
	e->freed += change->freed;
}

void rates_show(struct rate_book *r)
{
	r->known = r->count != 0;
	r->begin_ns = r->known ? rates_part(r, 0)->begin_ns : 0;
	r->before = r->known ? rates_part(r, 0)->before : (struct tally){ 0 };
}

void rates_clear(struct rate_book *r)
{
	size_t count;

	while (r->count)
		free(rates_drop(r, &count));
	r->first = 0;
	rates_show(r);
}

void rates_add_up(const struct rate_book *r, struct rate *slots)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct rate_part *p = rates_part(r, i);
		for (size_t k = 0; k < p->count; k++) {
			const struct rate_entry *e = &p->entries[k];
			rate_add(&slots[e->slot], &(struct rate){ e->bytes, e->blocks, e->freed });
		}
	}
}
