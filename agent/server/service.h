/* SPDX-License-Identifier: MIT
 *
 * service.h - the state of the server's loop, its address and its end: what no folder below has to
 * know. Server thread.
 *
 *   start.c          target side: starts it, asks it for marks, tells it of exec and exit
 *   seccomp_probe.c  target side: would a filter of system calls kill it?
 *   signals.c        target side: signals that ask for a dump, or for a window
 *   loop.c           its main loop: poll, ticks
 *   listen.c         socket names and who may connect
 *   handshake.c      connections that are not viewers yet: greeting, proof
 *   viewer.c         one connection: bytes, frames from it
 *   commands.c       carries out those frames' requests
 *   dump.c           session files without a viewer (dump/session.c, dump/zstd_raw.c)
 *   target_exit.c    end of the target, exec
 *   privileges.c     follows the target when it gives up rights
 *   detach.c         removes the agent from the target
 *   linger.c         the board's record; stays for memtop
 */
#ifndef MT_SERVER_SERVICE_H
#define MT_SERVER_SERVICE_H

#include "collect/server.h"
#include "dump/preconditions.h"
#include "server/handshake.h"

#define LISTEN_NAMES 8 /* suffixes tried for a name that is taken */

/* The address for viewers: server/listen.c. */
struct listening {
	/* set by the target before the server starts, then immutable */
	/* sun_path of each try, [0] '@' for abstract; "" = no more */
	char names[LISTEN_NAMES][112];
	int port; /* TCP port, 0 = none */
	char token[MTW_TOKEN_MAX + 1];

	int fd;
	int name_at;       /* index of the bound one in names[] */
	struct file_id at; /* ... where it is a path */
	bool given_up;
	bool said;         /* why it is bound nowhere */
	uint64_t until_ns; /* how long to retry the first name */
	uint64_t next_ns;
};

/* The session is over, and memtop may still fetch the final state: server/linger.c. */
struct lingering {
	bool is;
	uint64_t until_ns;
};

/* A viewer requested a detach: server/detach.c. */
struct leaving {
	bool asked;
	uint64_t until_ns; /* ... and gets a refusal after that time */
};

struct service {
	/* set by the target before the server starts, then immutable */
	bool shares_files; /* its descriptors with the target, until it has unshared them */
	bool is_child; /* a process, made the target's child, because the target inherits orphans */

	int signal_fd;
	uint64_t over_ns, next_second_ns, next_tick_ns;
	uint64_t next_unread_ns; /* when viewers' unread_s are next counted */
	uint64_t limit_next_ns;  /* when the limit of processor time moves on */
	bool window;             /* window_signal= began one */

	struct listening listening;
	struct handshakes door;
	struct lingering lingering;
	struct leaving leaving;
	struct dumps dumps;
};

#endif
