/* SPDX-License-Identifier: MIT
 *
 * breath.c - looks at the clock every few thousand blocks, so that a walk over millions delays no
 * viewer.
 */
#include "collect/breath.h"
#include "collect/memory.h"
#include "collect/server.h"

#define BREATH_STEPS 8192u /* until the clock is looked at; a block is one */
#define BREATH_NS (20 * MILLI)

void breath_take(struct server *s, struct breath *b, uint32_t steps)
{
	uint64_t now;

	b->steps += steps;
	if (b->steps < BREATH_STEPS)
		return;
	b->steps = 0;
	now = server_now();
	if (b->since_ns && now - b->since_ns <= BREATH_NS)
		return;
	if (b->since_ns)
		s->breathe(s);
	b->since_ns = server_now();
}
