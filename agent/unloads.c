/* SPDX-License-Identifier: MIT
 *
 * unloads.c - while the server reads or writes what belongs to loaded objects, none is unloaded.
 *
 * The loader's lock is not the server's to take: it is no thread of the program's. But every dlclose of the program
 * comes by our hook, and waits there for as long as the server holds it: some 100 microseconds as a rule. The
 * server waits for those that are under way, not for long: a destructor may take its time. Not seen are
 * unloads that libc does by itself (character sets); maps.c looks before it reads.
 */
#include "agent.h"

#define HELD (1u << 31)
#define PAUSE_NS 100000
#define PATIENCE 20000 /* pauses; a server that was killed in the middle holds nothing any more */

static _Atomic uint32_t xunloads; /* HELD, and how many are under way */

bool mt_unloads_hold(uint64_t wait_ns)
{
	atomic_fetch_or(&xunloads, HELD);
	for (uint64_t waited = 0; atomic_load(&xunloads) != HELD; waited += PAUSE_NS) {
		if (waited >= wait_ns) {
			mt_unloads_release();
			return false;
		}
		mt_prim_sleep(PAUSE_NS);
	}
	return true;
}

void mt_unloads_release(void)
{
	atomic_fetch_and(&xunloads, ~HELD);
}

/*
 * One within another's destructor makes the server wait for both, until it gives up. Under a filter of system calls
 * there is no waiting: then the server reads at its own risk, as it does where libc unloads.
 */
void mt_unloads_begin(void)
{
	for (int i = 0; atomic_fetch_add(&xunloads, 1) & HELD && i < PATIENCE && !mt_init_filtered(); i++) {
		atomic_fetch_sub(&xunloads, 1);
		mt_prim_sleep(PAUSE_NS);
	}
}

void mt_unloads_end(void)
{
	atomic_fetch_sub(&xunloads, 1);
}

void mt_unloads_forked(void)
{
	atomic_store(&xunloads, 0);
}
