/* SPDX-License-Identifier: MIT
 *
 * api.c - the memtop_* functions that a program may call; their contract is in memtop/memtop.h.
 * Called on the program's threads, at any time; without a server they do nothing.
 */
#include "hooks/caller.h"
#include "base/compiler.h"
#include "base/types.h"
#include "hooks/gate.h"
#include "server/start.h"
#include "unwind/unwind.h"

#include <memtop/memtop.h>

MT_EXPORT unsigned memtop_mark(const char *name)
{
	return mt_server_running() ? mt_server_mark(name ? name : "") : 0;
}

MT_EXPORT int memtop_backtrace(void **frames, int max)
{
	struct thread *t = mt_gate_enter();

	if (!t || max <= 0)
		return 0;
	return mt_unwind_backtrace(t, CALLER, frames, max);
}
