/* SPDX-License-Identifier: MIT
 *
 * server.h - the process beside the target: its state, and the map of its files.
 *
 *   server/start.c            target side: starts it, asks it for marks, tells it of exec and exit
 *   server/seccomp_probe.c    target side: would a filter of system calls kill it?
 *   server/loop.c             its main loop: poll, ticks
 *   server/target_exit.c      end of the target, exec
 *   server/privileges.c       follows the target when it gives up rights
 *   server/detach.c           removes the agent from the target
 *   collect/coverage.c        whether each module's calls are hooked
 *   server/linger.c           the board's record; stays for memtop
 *   server/listen.c           socket names and who may connect
 *   collect/proc.c            figures from /proc
 *   collect/sums.c            counters -> central sums with a change number; threads, modules
 *   server/handshake.c        connections that are not viewers yet: greeting, proof
 *   server/viewer.c           one connection: bytes, frames from it
 *   server/dump.c             session files without a viewer
 *   dump/say.c                ... whether they are wanted, room for one, and why one failed
 *   server/signals.c          target side: signals that ask for one, or for a window
 *   dump/session.c            ... the file
 *   dump/zstd_raw.c           ... its blocks
 *   server/commands.c         carries out those frames' requests
 *   encode/encode.c           state -> frames, first the small kinds
 *   encode/encode_slots.c     slots with their paths
 *   collect/marks.c           epochs, and what was live at their marks
 *   collect/history.c         thinned totals
 *   collect/samples.c         instants that growth is judged by
 *   collect/stops.c           when the target could not run
 *   collect/peak_snapshot.c   the counters at the peak
 *   collect/slot_snapshots.c  live by slot at marks and samples
 *   scan/scan.c               threads and ages out of the live map
 *   collect/cohorts.c         ... by slot
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

#define LISTEN_NAMES 8             /* suffixes tried for a name that is taken */
#define SCRATCH_BYTES (192u << 10) /* one payload while it is made */

/* Identity of a file. All 0: none. */
struct file_id {
	uint64_t device, inode;
};

/* A process's rights, from /proc/PID/status. */
struct rights {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	uint32_t groups, group[64];
	uint64_t inheritable, permitted, effective, bounding; /* capabilities */
	uint32_t filters; /* of system calls; 0 where the kernel does not count them */
	bool filtered;
};

struct handshakes;

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

/* The session is over, and memtop may still fetch the final state: server/linger.c. */
struct lingering {
	bool is;
	bool last_taken; /* a viewer has it */
	uint64_t until_ns;
};

/* Session files written without a viewer: server/dump.c. */
struct dumps {
	char folder[256]; /* of the program when the server started, for a relative dump_to= */
	uint32_t number;  /* of the last one */
	uint64_t live;    /* at the last one for growth; before it 0, or what a fork inherited */
	bool begun, rss_over; /* growth was looked at; the last pass was above dump_on_rss= */
	bool asked;           /* the signal came */
	bool busy;            /* one is being written */
	bool late;            /* the program ended meanwhile, and its end asks for one */
	long said;            /* the failure that was reported last */
	void *room;           /* addresses that a dump gets; NULL: given away */
	struct file_id program_stderr; /* what descriptor 2 was at the start */
};

/* A viewer requested a detach: server/detach.c. */
struct leaving {
	bool asked;
	uint64_t until_ns; /* ... and gets a refusal after that time */
};

struct server {
	/* set by the target before the server starts, then immutable */
	struct shared *shared;
	bool thread_mode;  /* a raw thread of the target */
	bool shares_files; /* ... with its descriptors, until it has unshared them */
	bool is_child; /* a process, made the target's child, because the target inherits orphans */
	bool dies_along; /* may end with the target: a thread, or in a pid namespace */

	int signal_fd;
	bool over; /* the target is gone, or the agent detached; the state is final */
	uint64_t over_ns, next_second_ns, next_tick_ns;
	uint64_t next_unread_ns; /* when viewers' unread_s are next counted */
	uint64_t limit_next_ns;  /* when the limit of processor time moves on */
	uint64_t start_unix_ns;
	void (*breathe)(struct server *s); /* inside long work: sockets and ticks, no commands */

	struct target target;
	struct privileges privileges;
	struct listening listening;
	struct handshakes *door; /* server/handshake.c */
	struct session_state state;
	struct lingering lingering;
	struct leaving leaving;
	struct dumps dumps;
	bool window; /* window_signal= began one */

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
