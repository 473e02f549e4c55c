/* SPDX-License-Identifier: MIT
 *
 * batch.c - events that wait for the columns: type, the id as a step from the last one, and the
 * numbers that events of the type have.
 */
#include "heap/take.h"

#include <stdlib.h>

#define EVENT_BYTES 64u /* at most: a byte, 5 of each id, 10 of each other number */
#define ON 0x80u

/* Which numbers an event has beside its id. */
static bool has_of(unsigned type)
{
	return type == HEAP_NODE || type == HEAP_SLOT;
}

static bool has_number(unsigned type)
{
	return has_of(type) || type == HEAP_CELL || type == HEAP_EPOCH;
}

static bool has_tally(unsigned type)
{
	return type == HEAP_COUNTS || type == HEAP_PEAK_CELL || type == HEAP_PEAK_WHOLE ||
	       type == HEAP_RATE;
}

void heap_put(struct heap_batch *b, const struct heap_event *e)
{
	GROW(b->bytes, b->room, b->len + EVENT_BYTES);
	struct mtw_out o = { b->bytes + b->len, b->bytes + b->room, false };
	uint32_t step = e->id - b->last; /* modulo 2^32; the sign goes into the lowest bit */

	*o.at++ = (uint8_t)(e->type | (e->on ? ON : 0));
	mtw_put(&o, step << 1 ^ (step >> 31 ? UINT32_MAX : 0));
	if (has_of(e->type))
		mtw_put(&o, e->of);
	if (has_number(e->type))
		mtw_put(&o, e->number);
	if (has_tally(e->type)) {
		mtw_put(&o, e->t.alloc_blocks);
		mtw_put(&o, e->t.alloc_bytes);
		mtw_put(&o, e->t.free_blocks);
		mtw_put(&o, e->t.free_bytes);
	}
	b->last = e->id;
	b->len = (size_t)(o.at - b->bytes);
	b->count++;
}

bool heap_next(const struct heap_batch *b, struct heap_batch_at *at, struct heap_event *e)
{
	if (at->at >= b->len)
		return false;
	struct mtw_in in = { b->bytes + at->at, b->bytes + b->len, false };
	uint8_t head = *in.at++;
	uint32_t step = (uint32_t)mtw_get(&in);

	*e = (struct heap_event){ .type = head & ~ON, .on = head & ON };
	e->id = at->last += step >> 1 ^ (step & 1 ? UINT32_MAX : 0);
	if (has_of(e->type))
		e->of = (uint32_t)mtw_get(&in);
	if (has_number(e->type))
		e->number = mtw_get(&in);
	if (has_tally(e->type)) {
		e->t.alloc_blocks = mtw_get(&in);
		e->t.alloc_bytes = mtw_get(&in);
		e->t.free_blocks = mtw_get(&in);
		e->t.free_bytes = mtw_get(&in);
	}
	at->at = (size_t)(in.at - b->bytes);
	return true;
}

void heap_batch_empty(struct heap_batch *b, size_t kept)
{
	b->len = b->count = 0;
	b->last = 0;
	if (b->room <= kept)
		return;
	free(b->bytes);
	b->bytes = NULL;
	b->room = 0;
}

void heap_batch_release(struct heap_batch *b)
{
	free(b->bytes);
	*b = (struct heap_batch){ 0 };
}
