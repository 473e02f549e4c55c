/* SPDX-License-Identifier: MIT */
#include "heap/running.h"

#include "heap/room.h"

#include <stdlib.h>
#include <string.h>

void running_begin(struct running_pen *p, struct running_sums *to, uint32_t most)
{
	p->to = to;
	p->at = 0;
	p->sum = (struct quad){ { 0 } };
	to->count = p->words = 0;
	to->blocks = xmalloc((most / RUNNING_BLOCK + 1ul) * sizeof *to->blocks);
	to->bytes = room_take((most / RUNNING_BLOCK + 1ul) * RUNNING_BLOCK * sizeof(struct quad) +
			      sizeof(uint64_t));
}

static unsigned width_of(uint64_t most)
{
	return most ? (unsigned)(71 - __builtin_clzll(most)) / 8 : 0;
}

/* Each entry is written with eight bytes, of which the next one takes what it does not need. */
static void write_number(uint8_t *to, const struct quad *list, unsigned k, uint32_t count,
			 unsigned width)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t n = htole64(list[i].n[k] - list[0].n[k]);

		memcpy(to + (size_t)i * width, &n, sizeof n);
	}
}

/* The entries since the last whole block. */
static void write_block(struct running_pen *p, uint32_t first, uint32_t count)
{
	struct running_block *b = &p->to->blocks[first / RUNNING_BLOCK];
	uint64_t most[4] = { 0 };

	*b = (struct running_block){ .before = p->list[0], .at = p->words };
	for (uint32_t i = 0; i < count; i++)
		for (unsigned k = 0; k < 4; k++)
			most[k] |= p->list[i].n[k] - b->before.n[k];
	for (unsigned k = 0; k < 4; k++) {
		b->width[k] = (uint8_t)width_of(most[k]);
		if (b->width[k])
			write_number(p->to->bytes + 8ul * p->words, p->list, k, count, b->width[k]);
		p->words += b->width[k] * RUNNING_BLOCK / 8;
	}
}

void running_flush(struct running_pen *p)
{
	write_block(p, p->at - RUNNING_BLOCK, RUNNING_BLOCK);
}

void running_end(struct running_pen *p)
{
	uint32_t in = p->at % RUNNING_BLOCK;

	p->list[in] = p->sum;
	write_block(p, p->at - in, in + 1);
	p->to->count = p->at;
}

static void read_number(const uint8_t *from, struct quad *list, unsigned k, uint32_t count,
			unsigned width)
{
	for (uint32_t i = 0; i < count; i++)
		list[i].n[k] += running_more(from + (size_t)i * width, width);
}

void running_look(struct running_reader *r)
{
	const struct running_block *b = &r->of->blocks[r->at / RUNNING_BLOCK];
	uint32_t left = r->of->count - r->at + 1,
		 count = left < RUNNING_BLOCK ? left : RUNNING_BLOCK;
	const uint8_t *at = r->of->bytes + 8ul * b->at;

	for (uint32_t i = 0; i < count; i++)
		r->list[i] = b->before;
	for (unsigned k = 0; k < 4; at += RUNNING_BLOCK * b->width[k++])
		if (b->width[k])
			read_number(at, r->list, k, count, b->width[k]);
	if (left > RUNNING_BLOCK)
		r->list[RUNNING_BLOCK] = b[1].before;
}

void running_release(struct running_sums *r)
{
	free(r->blocks);
	free(r->bytes);
}
