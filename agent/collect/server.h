/* SPDX-License-Identifier: MIT
 *
 * server.h - the process beside the target: its state, and the map of its files.
 *
 *   server/start.c            target side: starts it, asks it for marks, tells it of exec and exit
 *   server/seccomp_probe.c    target side: would a filter of system calls kill it?
 *   server/loop.c             its main loop: poll, ticks
 *   server/target_exit.c      end of the target, exec
 *   server/privileges.c       follows what the target gives up
 *   server/detach.c           the agent is taken out of the target
 *   server/coverage.c         which modules it is in
 *   server/linger.c           the board's record; stays for memtop
 *   server/listen.c           socket names and who may connect
 *   collect/proc.c            figures from /proc
 *   collect/sums.c            counters -> central sums with a change number; threads, modules
 *   server/handshake.c        who is no viewer yet: greeting, proof
 *   server/viewer.c           one connection: bytes, frames from it
 *   server/commands.c         what those frames ask for
 *   collect/encode.c          state -> frames, first the small kinds
 *   collect/encode_slots.c    slots with their paths
 *   collect/marks.c           epochs with what was live then
 *   collect/history.c         thinned totals
 *   collect/samples.c         instants that growth is judged by
 *   collect/slot_snapshots.c  live by slot at marks and samples
 *   collect/scan.c            threads and ages out of the live map
 *   collect/cohorts.c         ... by slot
 *
 * All but server/start.c and server/seccomp_probe.c run in the server only, which is one thread: no
 * locks, no atomics but in `struct shared`. It has no thread of the C library's, so nothing here
 * may use errno, stdio, malloc or any function that reads thread-local storage; memcpy and the like
 * are fine.
 *
 * CHANGE NUMBERS. `pass` counts collections. Everything that viewers are told carries the pass in
 * which it changed; a viewer keeps the pass up to which it was served. No queue can grow.
 */
#ifndef MT_COLLECT_SERVER_H
#define MT_COLLECT_SERVER_H

#include "base/arena.h"
#include "base/types.h"
#include "collect/history.h"
#include "collect/marks.h"
#include "collect/samples.h"
#include "collect/scan.h"
#include "collect/scan_requests.h"
#include "collect/shared.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "record/filter.h"
#include <memtop/wire.h>

#define LISTEN_NAMES 8             /* suffixes tried for a name that is taken */
#define SCRATCH_BYTES (192u << 10) /* one payload while it is made */
#define LAST_SCANS 2u              /* threads, memory */
#define NOTICES 16                 /* kept; a viewer that is further behind misses the oldest */
#define NOTICE_MAX 200
#define OPTIONS_MAX 32
#define FILTERS_MAX 1000 /* changes of a filter in a session */

struct option {
	char name[MTW_NAME_MAX + 1], value[256], who[MTW_NAME_MAX + 1];
	uint32_t changed;
};

/* What is recorded since then: MTW_FILTER. */
struct filter_entry {
	uint64_t since_ns, sample, min_size, max_size, merge;
	char libs[256], exclude[256], who[MTW_NAME_MAX + 1];
};

struct notice {
	uint32_t serial;
	int except; /* viewer that is not told, -1 = all are */
	int only;   /* viewer that alone is told, -1 = all */
	char text[NOTICE_MAX];
};

/* Of a socket's name in a folder. All 0: none. */
struct socket_file {
	uint64_t device, inode;
};

/* What a process may, by /proc/PID/status. */
struct privileges {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	uint32_t groups, group[64];
	uint64_t inheritable, permitted, effective, bounding; /* capabilities */
	uint32_t filters; /* of system calls; 0 where the kernel does not count them */
	bool filtered;
};

struct handshakes;

struct server {
	/* set by the target before the server starts, then immutable */
	struct shared *shared;
	int target; /* its pid */
	/* sun_path of each try, [0] '@' for abstract; "" = no more */
	char names[LISTEN_NAMES][112];
	int port; /* TCP port, 0 = none */
	char token[MTW_TOKEN_MAX + 1];
	bool thread_mode;   /* a raw thread of the target */
	bool shares_files;  /* ... with its descriptors, until it has unshared them */
	bool is_child;      /* a process, child of the target, as its orphans would be */
	bool dies_along;    /* may end with the target: a thread, or in a pid namespace */
	bool user_is_fixed; /* a filter kills for a change of its user */

	/* sockets and life */
	int listen_fd, pid_fd, signal_fd;
	int name_at;                   /* of names[]: the one that is bound */
	struct socket_file listens_at; /* ... where it is a path */
	bool listen_given_up;
	bool listen_said;         /* why it is bound nowhere */
	uint64_t listen_until_ns; /* retry the first name so long */
	uint64_t listen_next_ns;
	bool over;       /* the target is gone, or we leave it; state is final */
	bool announced;  /* ... by a thread of the target, which waits for the last frames */
	bool released;   /* target_release() was called */
	bool lingers;    /* over, and memtop may still come for the final state: server/linger.c */
	bool last_taken; /* a viewer has it */
	uint64_t linger_until_ns;
	bool leaving;            /* a viewer asked for that: server/detach.c */
	uint64_t leave_until_ns; /* ... and is told that it cannot be, after that */
	uint64_t over_ns, exec_since_ns, next_second_ns, next_tick_ns;
	uint64_t limit_next_ns; /* the limit of processor time is moved on then */
	bool exec_pending, kcmp_works;
	unsigned strange; /* looks in a row at which the target's memory seemed not to be ours */
	struct privileges rights; /* the target's, as we followed them */
	uint64_t root[2]; /* device and number of its root directory at the start, if root_seen */
	bool root_seen, root_settled; /* settled: it cannot change any more */
	bool sealed; /* no path, no new socket, no other process: server/privileges.c */
	char exe[MTW_STRING_MAX];
	char args[16384]; /* NUL-separated */
	size_t args_len;
	uint64_t start_unix_ns;

	/* state frames */
	uint32_t state, state_status, state_known, state_serial;
	uint64_t state_ns;
	uint64_t rss_bytes, virtual_bytes, thread_count, target_cpu_ns, agent_cpu_ns, hook_ns;
	struct effort effort; /* of all threads, once a second */
	uint64_t effort_allocations, effort_next_ns;
	uint64_t memory_bytes, memory_next_ns; /* resident in all that the agent mapped */
	uint64_t memory_of[PART_COUNT];        /* its parts */
	uint64_t children, children_next_ns;
	uint32_t process_pass; /* pass in which any of them changed */
	struct option option[OPTIONS_MAX];
	uint32_t option_count, option_serial;
	struct filter_entry *filter; /* [FILTERS_MAX] in the order of time; NULL = never any */
	uint32_t filter_count;
	struct notice notice[NOTICES];
	uint32_t notice_serial;

	/* sums */
	uint32_t pass;
	uint64_t pass_ns; /* when it was taken, since start */
	uint64_t totals_ns;
	struct tally totals; /* = sum over slots, always */
	uint64_t peak_bytes, peak_error, peak_ns;
	uint64_t seen_peak, seen_peak_ns; /* largest live of all passes */
	uint32_t slot_limit;              /* ids below it may have been seen */
	uint64_t slots_seen;
	struct sum_chunk **chunk;           /* [SUM_CHUNKS] */
	int64_t *module_live;               /* [MTW_MODULES_MAX] by owner */
	uint32_t *module_changed;           /* [MTW_MODULES_MAX] pass */
	uint32_t *module_seen;              /* [MTW_MODULES_MAX] what of it may change, folded */
	uint32_t modules_seen, module_pass; /* pass in which any changed */
	uint64_t threads_next_ns;           /* names and ends are looked up then */
	struct thread_row *thread;          /* [MTW_THREADS_MAX] */
	uint32_t thread_limit, thread_pass; /* pass in which any changed */

	struct mark *mark; /* [MTW_MARKS_MAX], by id */
	uint32_t mark_last, mark_serial;
	size_t mark_bytes; /* of all live blobs */
	struct history *history;
	struct samples *samples;
	struct scan scan;
	void (*breathe)(struct server *s); /* inside long work: sockets and ticks, no commands */
	int scan_turn;                     /* the viewer that is looked at first for the next one */
	struct last_scan last[LAST_SCANS]; /* of the final state */
	struct cohorts *last_cohorts;      /* MTW_SCAN_COHORTS likewise; NULL = none */

	struct handshakes *door; /* server/handshake.c */
	struct viewer viewer[VIEWERS_MAX];
	uint8_t *scratch; /* SCRATCH_BYTES */
	struct slots_batch *batch;
	struct tcb *tcb;
};

#endif
