/* SPDX-License-Identifier: MIT
 *
 * dlclose_wait.c - keeps objects loaded while the server reads or writes their memory.
 *
 * The server cannot take the loader's lock, because it is no thread of the program's. But every
 * dlclose of the program runs the agent's hook, and waits there while the server holds them:
 * usually some 100 microseconds. The server waits for unloads under way, but not for long, because
 * a destructor may take its time. Unloads that libc does by itself (character sets) are not seen;
 * modules/maps.c probes before it reads.
 *
 * A dead server holds nothing: the kernel tells (collect/server.h: xtid). A live server that has
 * not let go within two seconds loses its hold, so one dlclose waits for a stopped server and the
 * next does not. When such a server goes on, it may fault on memory that is gone, which ends only
 * its own process. On a busy machine a server may wait some 100 ms for a cpu, so a shorter limit
 * would stop a detach half way.
 */
#include "server/dlclose_wait.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "collect/shared.h"

#define HELD (1u << 31)
#define PAUSE_NS 100000
#define PATIENCE_NS (2ull * 1000 * 1000 * 1000)

MT_FORK_WORD static _Atomic uint32_t xunloads; /* HELD, and how many are under way */

bool mt_dlclose_hold(uint64_t wait_ns)
{
	atomic_fetch_or(&xunloads, HELD);
	for (uint64_t waited = 0; atomic_load(&xunloads) != HELD; waited += PAUSE_NS) {
		if (waited >= wait_ns) {
			mt_dlclose_release();
			return false;
		}
		mt_prim_sleep(PAUSE_NS);
	}
	return true;
}

void mt_dlclose_release(void)
{
	atomic_fetch_and(&xunloads, ~HELD);
}

/*
 * One within another's destructor makes the server wait for both, until it gives up. Under a filter
 * of system calls there is no waiting: then the server reads at its own risk, as it does where libc
 * unloads.
 */
void mt_dlclose_begin(void)
{
	uint64_t since = 0;

	while (atomic_fetch_add(&xunloads, 1) & HELD && !mt_state_filtered()) {
		if (!since)
			since = mt_prim_now_ns();
		if (!mt_server_alive() || mt_prim_now_ns() - since > PATIENCE_NS) {
			mt_dlclose_release();
			return;
		}
		atomic_fetch_sub(&xunloads, 1);
		mt_prim_sleep(PAUSE_NS);
	}
}

void mt_dlclose_end(void)
{
	atomic_fetch_sub(&xunloads, 1);
}

MT_FORK_CODE void mt_dlclose_forked(void)
{
	atomic_store(&xunloads, 0);
}
