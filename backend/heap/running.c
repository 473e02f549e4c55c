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
	to->count = 0;
	to->blocks = xmalloc((most / RUNNING_BLOCK + 1ul) * sizeof *to->blocks);
	to->low = room_take((most + 1ul) * sizeof *to->low);
}

/* The entries since the last whole block. */
static void write_block(struct running_pen *p, uint32_t first, uint32_t count)
{
	struct running_block *b = &p->to->blocks[first / RUNNING_BLOCK];
	uint32_t(*low)[4] = &p->to->low[first];
	uint64_t high = 0;

	*b = (struct running_block){ .before = p->list[0] };
	for (uint32_t i = 0; i < count; i++)
		for (unsigned k = 0; k < 4; k++) {
			uint64_t more = p->list[i].n[k] - b->before.n[k];
			low[i][k] = (uint32_t)more;
			high |= more;
		}
	if (high <= UINT32_MAX)
		return;
	b->wide = xmalloc(count * sizeof *b->wide);
	memcpy(b->wide, p->list, count * sizeof *b->wide);
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

void running_release(struct running_sums *r)
{
	for (uint32_t i = 0; r->blocks && i <= r->count / RUNNING_BLOCK; i++)
		free(r->blocks[i].wide);
	free(r->blocks);
	room_give(r->low);
}
