/* SPDX-License-Identifier: MIT
 *
 * server.h - the process beside the target: what it keeps of the target, and the map of its
 * collectors. server/service.h has the state of its loop and address.
 *
 *   collect/coverage.c        whether each module's calls are hooked
 *   collect/proc.c            figures from /proc
 *   collect/sums.c            counters -> central sums with a change number; threads, modules
 *   collect/marks.c           epochs, and what was live at their marks
 *   collect/history.c         thinned totals
 *   collect/samples.c         instants that growth is judged by
 *   collect/stops.c           when the target could not run
 *   collect/peak_snapshot.c   the counters at the peak
 *   collect/slot_snapshots.c  live by slot at marks and samples
 *   collect/cohorts.c         threads and ages out of the live map (scan/scan.c), by slot
 *
 * All but server/start.c, server/seccomp_probe.c and server/signals.c run in the server only,
 * which is one thread: no locks, and no atomics except in `struct shared`. That thread is not the C
 * library's, so nothing here may use errno, stdio, malloc or any function that reads thread-local
 * storage; memcpy and the like are fine.
 *
 * CHANGE NUMBERS. `pass` counts collections. Everything sent to viewers carries the pass in which
 * it changed, and a viewer keeps the pass up to which it was served. No queue can grow.
 */
#ifndef MT_COLLECT_SERVER_H
#define MT_COLLECT_SERVER_H

#include "base/types.h"
#include "collect/history.h"
#include "collect/marks.h"
#include "collect/options.h"
#include "collect/output.h"
#include "collect/peak_snapshot.h"
#include "collect/proc.h"
#include "collect/samples.h"
#include "collect/scan_requests.h"
#include "collect/shared.h"
#include "collect/stops.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include <memtop/wire.h>

#define SCRATCH_BYTES (192u << 10) /* one payload while it is made */

/* A process's rights, from /proc/PID/status. */
struct rights {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	uint32_t groups, group[64];
	uint64_t inheritable, permitted, effective, bounding; /* capabilities */
	uint32_t filters; /* of system calls; 0 where the kernel does not count them */
	bool filtered;
};

/* The target and its end: server/target_exit.c; its figures: collect/proc.c. */
struct target {
	int pid;    /* set before the server starts, then immutable */
	int number; /* in /proc (collect/proc.h); looked up once a second, until sealed */
	int pid_fd;
	uint64_t exec_since_ns;
	bool exec_pending, kcmp_works;
	/* number of successive looks at which its memory seemed to be another's */
	unsigned strange;
	bool announced; /* one of its threads announced its end, and waits for the last frames */
	bool released;  /* target_release() was called */
	char exe[MTW_STRING_MAX];
	char args[16384]; /* NUL-separated */
	size_t args_len;
};

/* MTW_STATE, written by the code that ends the session. */
struct session_state {
	uint32_t what, status, known, serial;
	uint64_t ns;
};

/* The target's rights as last followed: server/privileges.c. */
struct privileges {
	struct rights rights;
	uint64_t root[2]; /* device and number of its root directory at the start, if root_seen */
	bool root_seen, root_settled; /* final: it cannot change any more */
	bool sealed;                  /* no path, no new socket, no other process */
	/* set before the server starts: a filter kills a process that changes its user */
	bool user_is_fixed;
};

struct service;
struct dumps;

struct server {
	/* set by the target before the server starts, then immutable */
	struct shared *shared;
	bool thread_mode; /* a raw thread of the target */
	bool dies_along;  /* may end with the target: a thread, or in a pid namespace */

	bool over;       /* the target is gone, or the agent detached; the state is final */
	bool last_taken; /* a viewer has the final state */
	uint64_t start_unix_ns;
	/* inside long work: sockets and ticks, no commands */
	void (*serve_meanwhile)(struct server *s);

	struct target target;
	struct privileges privileges;
	struct session_state state;
	struct dumps *dumps;     /* dump/preconditions.h */
	struct service *service; /* the rest, which server/ alone knows: server/service.h */

	struct proc_figures figures;
	struct options options;
	struct notices notices;
	struct sums sums;
	struct marks marks;
	struct history *history;
	struct samples *samples;
	struct stops stops;
	struct peak_snapshot peak;
	struct scans scans;

	struct viewer viewer[VIEWERS_MAX];
	uint8_t *scratch; /* SCRATCH_BYTES */
	struct slots_batch *batch;
};

#endif
