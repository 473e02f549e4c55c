/* SPDX-License-Identifier: MIT
 *
 * session.c - begins a session: makes the live map, or empties it.
 */
#include "live/session.h"
#include "base/compiler.h"
#include "live/reclaim.h"
#include "live/leaves.h"
#include "live/origins.h"
#include "live/ticks.h"

bool mt_live_init(unsigned granule_bytes)
{
	return mt_live_ticks_init() && mt_live_leaves_init(granule_bytes);
}

MT_FORK_CODE void mt_live_forked(void)
{
	mt_live_leaves_forked();
}

void mt_live_restart(void)
{
	mt_live_leaves_restart();
	mt_origins_restart();
	mt_live_ticks_restart();
	mt_live_reclaim_restart();
}
