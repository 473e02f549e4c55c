/* SPDX-License-Identifier: MIT
 *
 * dlclose_gate.c - while the server reads or writes what belongs to loaded objects, none is
 * unloaded.
 *
 * The loader's lock is not the server's to take: it is no thread of the program's. But every
 * dlclose of the program comes by our hook, and waits there for as long as the server holds it:
 * some 100 microseconds as a rule. The server waits for those that are under way, not for long: a
 * destructor may take its time. Not seen are unloads that libc does by itself (character sets);
 * modules/maps.c looks before it reads.
 *
 * A server that has died holds nothing: the kernel tells (collect/server.h: xtid). From one that
 * lives, and has not let go within two seconds, its hold is taken, so that one dlclose waits for a
 * stopped server and the next does not. When such a server goes on, it may fault on what is gone,
 * which ends a process of its own. On a busy machine a server may wait for a cpu for some 100 ms:
 * the patience must be longer, or a detach ends half way.
 */
#include "server/dlclose_gate.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "collect/shared.h"

#define HELD (1u << 31)
#define PAUSE_NS 100000
#define PATIENCE_NS (2ull * 1000 * 1000 * 1000)

static _Atomic uint32_t xunloads; /* HELD, and how many are under way */

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

void mt_dlclose_forked(void)
{
	atomic_store(&xunloads, 0);
}
