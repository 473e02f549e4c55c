/* SPDX-License-Identifier: MIT
 *
 * walk_pause.c - looks at the clock every few thousand blocks, so that a walk over millions delays
 * no viewer.
 */
#include "collect/walk_pause.h"
#include "collect/memory.h"
#include "collect/server.h"

#define PAUSE_STEPS 8192u /* until the clock is looked at; a block is one */
#define PAUSE_NS (20 * MILLI)

void walk_pause_take(struct server *s, struct walk_pause *p, uint32_t steps)
{
	uint64_t now;

	p->steps += steps;
	if (p->steps < PAUSE_STEPS)
		return;
	p->steps = 0;
	now = server_now();
	if (p->since_ns && now - p->since_ns <= PAUSE_NS)
		return;
	if (p->since_ns)
		s->serve_meanwhile(s);
	p->since_ns = server_now();
}
