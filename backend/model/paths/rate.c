/* SPDX-License-Identifier: MIT
 *
 * rate.c - the parts of the window of all rates.
 *
 * A part is about a second. A tick's changes are added to the newest one, and a part is taken back
 * as a whole once it ended ten seconds ago. So the window is ten to eleven seconds long, less after
 * a start, and more when ticks are rare. Rates are kept as exact counts: who shows one divides it
 * by the window's length (model_window()), and rows add up to the totals at any speed. Nothing
 * before a link's first complete state counts: that is history.
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

void rates_drop(struct rate_book *r)
{
	struct rate_part *p = &r->parts[r->first];

	free(p->threads);
	*p = (struct rate_part){ 0 };
	r->first = (r->first + 1) % RATE_PARTS;
	r->count--;
}

struct rate_part *rates_open(struct rate_book *r, uint64_t before_ns, const struct tally *before)
{
	if (r->count && before_ns < rates_newest(r)->begin_ns + PART_NS)
		return NULL;
	r->count++;
	*rates_newest(r) = (struct rate_part){ .begin_ns = before_ns, .before = *before };
	return rates_newest(r);
}

void rates_show(struct rate_book *r)
{
	r->known = r->count != 0;
	r->begin_ns = r->known ? rates_part(r, 0)->begin_ns : 0;
	r->before = r->known ? rates_part(r, 0)->before : (struct tally){ 0 };
}

void rates_clear(struct rate_book *r)
{
	while (r->count)
		rates_drop(r);
	r->first = 0;
	rates_show(r);
}
