/* SPDX-License-Identifier: MIT
 *
 * ticks.c - birth ticks, and when each began.
 */
#include "live/ticks.h"
#include "base/state.h"
#include "base/stretch.h"

#define TICKS 65536

#define NOW_FIRST (UINT64_C(1) << 30)

_Atomic uint64_t mt_live_now = NOW_FIRST;
static struct stretch starts; /* of all ticks, */
static uint64_t *tick_start;  /* written by the server before mt_live_now */

bool mt_live_ticks_init(void)
{
	tick_start = mt_stretch_begin(&starts, 1, TICKS * sizeof(*tick_start), PART_MAP);
	return tick_start;
}

void mt_live_ticks_restart(void)
{
	uint64_t round = (atomic_load(&mt_live_now) >> NOW_ROUND) + 1;

	mt_stretch_drop(&starts, 0);
	atomic_store(&mt_live_now, round << NOW_ROUND | NOW_FIRST);
}

uint32_t mt_live_tick(void)
{
	return atomic_load_explicit(&mt_live_now, memory_order_acquire) >> NOW_TICK & (TICKS - 1);
}

uint64_t mt_live_tick_ns(uint32_t tick)
{
	return tick < TICKS && tick_start ? tick_start[tick] : 0;
}

/* How long tick n lasts: see the bit budget in base/types.h. */
static uint64_t tick_length_ns(uint32_t n)
{
	uint64_t s = n < 32768 ? 1 : n < 49152 ? 4 : n < 57344 ? 16 : n < 61440 ? 64 : 256;

	return s * 1000 * 1000 * 1000;
}

void mt_live_advance(uint64_t now_ns, bool mark)
{
	uint32_t n = mt_live_tick();

	if (n + 1 >= TICKS || (!mark && now_ns - tick_start[n] < tick_length_ns(n)))
		return;
	if (!mt_stretch_reach(&starts, (n + 2) * sizeof(*tick_start)))
		return;
	tick_start[n + 1] = now_ns;
	atomic_fetch_add_explicit(&mt_live_now, UINT64_C(1) << NOW_TICK, memory_order_release);
	mt_era_next();
}

void mt_live_next_round(void)
{
	atomic_fetch_add_explicit(&mt_live_now, UINT64_C(1) << NOW_ROUND, memory_order_release);
	mt_era_next();
}
