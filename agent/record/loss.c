/* SPDX-License-Identifier: MIT
 *
 * loss.c - events that could not be counted: their number and bytes, by reason.
 */
#include "record/loss.h"

#include <memtop/wire.h>
#include <string.h>

static struct {
	_Atomic uint64_t xevents, xbytes;
} losses[MTW_LOSS_COUNT];

MT_COLD void mt_record_loss(unsigned reason, uint64_t bytes)
{
	atomic_fetch_add_explicit(&losses[reason].xevents, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&losses[reason].xbytes, bytes, memory_order_relaxed);
}

void mt_record_losses_restart(void)
{
	memset(losses, 0, sizeof(losses));
}

void mt_record_losses(unsigned reason, uint64_t *events, uint64_t *bytes)
{
	*events = atomic_load_explicit(&losses[reason].xevents, memory_order_relaxed);
	*bytes = atomic_load_explicit(&losses[reason].xbytes, memory_order_relaxed);
}
