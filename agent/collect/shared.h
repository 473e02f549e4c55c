/* SPDX-License-Identifier: MIT
 *
 * shared.h - the words through which the server and the target's threads talk to each other.
 *
 * They lie on a MADV_WIPEONFORK page, which reads as "no server" in a forked child. Threads sleep
 * on the words named x..._futex.
 */
#ifndef MT_COLLECT_SHARED_H
#define MT_COLLECT_SHARED_H

#include "base/types.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

#define MARK_REQUESTS 8

/* A mark requested by a thread of the program, which fills one and waits until it is done. */
enum { REQUEST_FREE, REQUEST_FILLING, REQUEST_READY, REQUEST_DONE, REQUEST_ABANDONED };
struct mark_request {
	_Atomic uint32_t xstate;
	uint32_t id; /* answer, valid when DONE */
	uint64_t epoch;
	char name[MTW_NAME_MAX + 1];
};

enum { SERVER_NONE, SERVER_STARTING, SERVER_UP, SERVER_FAILED, SERVER_ENDED };
enum { EXEC_NONE, EXEC_BEGINS, EXEC_RELEASED };
#define EXITS 257u /* with an unknown status */
struct shared {
	_Atomic uint32_t xstate_futex;  /* SERVER_* */
	_Atomic uint32_t xexec_futex;   /* EXEC_*: set by the target, RELEASED by the server */
	_Atomic uint32_t xviewer_futex; /* 1 once a viewer completed its CLIENT frame */
	_Atomic uint32_t xfinal_futex;  /* 1 once the last frames are written (dies_along) */
	_Atomic bool xleave;            /* the target tells the server to end: mt_server_leave() */
	/* the target may have given up rights: server/privileges.c checks */
	_Atomic bool xgiven;
	_Atomic uint32_t xexit; /* 1 + exit status that a thread announced, or EXITS; 0 = none */
	_Atomic int xpid, xtid; /* the server's */
	/* orphans fall to this process, other programs' servers among them */
	_Atomic bool xinherits;
	/* set by the target before the server runs, then immutable */
	bool thread_mode; /* as in struct server, like the next ones */
	bool dies_along;
	bool is_child;
	bool own; /* this process has started a server: false in a forked child */
	struct mark_request mark[MARK_REQUESTS];
};

extern struct shared *mt_shared; /* NULL = there is no server */

bool mt_server_alive(void); /* ... or ends, or was left; false: the kernel has seen its end */

#pragma GCC visibility pop

#endif
