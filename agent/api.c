/* SPDX-License-Identifier: MIT
 *
 * api.c - the memtop_* functions that a program may call; their contract is in memtop/memtop.h.
 * Called on the program's threads, at any time; without a server they do nothing.
 */
#include "agent.h"

#include <memtop/memtop.h>

MT_EXPORT unsigned memtop_mark(const char *name)
{
	return mt_server_running() ? mt_server_mark(name ? name : "") : 0;
}
