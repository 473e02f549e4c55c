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
#ifndef MT_SERVER_H
#define MT_SERVER_H

#include "base/agent.h"
#include "collect/cohorts.h"
#include "memtop/wire.h"
#include "collect/viewer.h"

#define LISTEN_NAMES 8             /* suffixes tried for a name that is taken */
#define SCRATCH_BYTES (192u << 10) /* one payload while it is made */
#define LAST_SCANS 2u              /* threads, memory */
#define SUM_CHUNK 4096u            /* slots in a chunk of sums */
#define SUM_GROUP 64u              /* slots that share a change number */
#define SUM_CHUNKS (MTW_SLOTS_MAX / SUM_CHUNK)
#define GROUPS (MTW_SLOTS_MAX / SUM_GROUP)
#define NO_OWNER UINT32_MAX
#define NOTICES 16 /* kept; a viewer that is further behind misses the oldest */
#define NOTICE_MAX 200
#define OPTIONS_MAX 32
#define FILTERS_MAX 1000 /* changes of a filter in a session */
#define HISTORY_POINTS 640
#define HISTORY_SERIES 32 /* owners followed; the largest 16 are sent */
#define MARK_REQUESTS 8
#define SAMPLES 32u
#define SECOND 1000000000ull
#define MILLI 1000000ull

/* A mark that a thread of the program asks for: it fills one, waits until it is done. */
enum { REQUEST_FREE, REQUEST_FILLING, REQUEST_READY, REQUEST_DONE, REQUEST_ABANDONED };
struct mark_request {
	_Atomic uint32_t xstate;
	uint32_t id; /* answer, valid when DONE */
	uint64_t epoch;
	char name[MTW_NAME_MAX + 1];
};

/* What the server and the target's threads tell each other. On a MADV_WIPEONFORK page: reads as
 * "no server" in a forked child. The words named x..._futex are slept on. */
enum { SERVER_NONE, SERVER_STARTING, SERVER_UP, SERVER_FAILED, SERVER_ENDED };
enum { EXEC_NONE, EXEC_BEGINS, EXEC_RELEASED };
#define EXITS 257u /* with a status that is not known */
struct shared {
	_Atomic uint32_t xstate_futex;  /* SERVER_* */
	_Atomic uint32_t xexec_futex;   /* EXEC_*: set by the target, RELEASED by the server */
	_Atomic uint32_t xviewer_futex; /* 1 once a viewer completed its CLIENT frame */
	_Atomic uint32_t xfinal_futex;  /* 1 once the last frames are written (dies_along) */
	_Atomic bool xleave;            /* the target wants it to go: mt_server_leave() */
	/* the target may have given up rights: server/privileges.c is to look */
	_Atomic bool xgiven;
	_Atomic uint32_t xexit; /* 1 + exit status that a thread announced, or EXITS; 0 = none */
	_Atomic int xpid, xtid; /* the server's */
	/* set by the target before the server runs, then immutable */
	bool thread_mode; /* as in struct server, like the next ones */
	bool dies_along;
	bool is_child;
	bool own; /* this process has started a server: false in a forked child */
	struct mark_request mark[MARK_REQUESTS];
};

/* Central sum of one slot: what a viewer is told. */
struct sum {
	struct tally now;
	uint32_t changed; /* pass, 0 = never seen */
	uint32_t owner;   /* module id, NO_OWNER = none but wrappers */
};

struct sum_chunk {
	uint32_t changed; /* newest of its groups */
	uint32_t group[SUM_CHUNK / SUM_GROUP];
	struct sum sum[SUM_CHUNK];
};

struct thread_row {
	struct thread_info info;
	uint32_t changed;
	bool gone; /* the kernel knows no such thread any more */
	bool over; /* ended, and its last figures are taken */
};

/* What was alive by slot at an instant, where it differs from the instant before:
 * collect/slot_snapshots.c. */
struct snapshot {
	uint8_t *live; /* varints: +slot, blocks, bytes; NULL = none */
	size_t bytes, mapped;
	uint32_t pass;    /* sums of this pass were kept */
	uint32_t version; /* changes when merged: a viewer under way starts again */
};

struct mark {
	uint32_t id;      /* 0 = unused */
	uint32_t flags;   /* MTW_MARK_* */
	uint32_t changed; /* serial of the last change, for viewers */
	uint64_t epoch, time_ns, rss_bytes;
	struct tally then; /* of slots with epoch <= this one */
	struct snapshot kept;
	char name[MTW_NAME_MAX + 1], set_by[MTW_NAME_MAX + 1];
};

struct sample {
	uint32_t serial; /* from 1, never used again */
	uint32_t sent;   /* bit by viewer: it has `kept` whole */
	uint64_t time_ns, live_bytes, rss_bytes;
	/* of live, since the sample before: lowest, largest way down */
	uint64_t low_bytes, fall_bytes;
	struct snapshot kept;
};

struct samples {
	uint64_t interval_ns, next_ns;
	uint64_t low_bytes, peak_bytes, fall_bytes; /* since the newest */
	uint32_t count, serial, changed;            /* changed: moves with the list */
	bool totals_only;                           /* no memory for what slots had */
	size_t bytes;                               /* of all `kept` */
	struct sample sample[SAMPLES];              /* oldest first */
};

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

struct point {
	uint64_t time_ns, alloc_bytes, alloc_blocks, free_blocks, live_bytes, rss_bytes;
	uint64_t series[HISTORY_SERIES];
};

struct history {
	uint64_t interval_ns, next_ns;
	uint32_t points, series;
	uint32_t owner[HISTORY_SERIES];
	uint64_t largest[HISTORY_SERIES];
	struct point point[HISTORY_POINTS];
};

/* Lets sockets and ticks have their turn within a long walk. All 0 at its begin. */
struct breath {
	uint32_t steps;
	uint64_t since_ns;
};

struct scan {
	int viewer; /* whose it is; -1 = none is under way */
	enum mtw_kind kind;
	uint64_t request;
	uint8_t *reply; /* finished payload, in SCRATCH_BYTES; NULL = not yet, or: */
	size_t reply_len;
	struct cohorts *cohorts; /* sent in parts */
	struct cohorts_at at;
	uint64_t begun_ns, moved_ns; /* moved: some of it was sent last */
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

/* A whole payload that the final state has. */
struct last_scan {
	unsigned type;
	uint8_t *reply; /* SCRATCH_BYTES; NULL = there is none */
	size_t len;
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

/* server/loop.c */
int loop_main(void *arg);            /* never returns to the target's code */
bool loop_prepare(struct server *s); /* before it starts: its memory; false: there is none */
/* Private memory of the server; NULL. Before it runs for its starter, then for the server alone:
 * the list has no lock. */
void *memory_map(size_t bytes);
/* False: not all of them, the list is broken. */
bool memory_each(void (*visit)(void *arg, enum part part, uintptr_t start, uintptr_t end),
		 void *arg);
void memory_unmap(void *p, size_t bytes);
bool memory_owns(uintptr_t start, uintptr_t end); /* overlaps one of them */
void memory_release(void);                  /* target: all of them, of a server that is gone */
void memory_forget(void);                   /* in a forked child: they are copies now */
uint64_t server_now(void);                  /* ns since the agent started */
void loop_tick(struct server *s, bool all); /* take everything, then tell viewers */

/* server/seccomp_probe.c */
/*
 * Target: would a filter of system calls end the server? *changes_kill is set, which was false:
 * only for a change of its user.
 */
bool seccomp_probe_kills(bool *changes_kill);

/* server/listen.c */
bool listen_parse(struct server *s); /* target side: names from the options, or says why not */
void listen_try(struct server *s, uint64_t now); /* binds when it can; sets listen_fd */
void listen_close(struct server *s, bool unlink);
bool listen_again(struct server *s); /* over: by an abstract name; false: it cannot */
const char *listen_refuses(int fd);  /* Unix sockets: why this peer may not; NULL = it may */

/* server/descriptors.c */
void descriptors_close(void); /* every one of the caller's table: what the server inherited */

/* server/target_exit.c */
void target_begin(struct server *s);
bool target_check(struct server *s, bool second); /* true: the target is gone, state is set */
/* leave the dead target's memory: goes on as another process */
void target_release(struct server *s);

/* server/linger.c */
void linger_tell(struct server *s); /* the board: figures so far */
/* ... the last ones; the target is gone, state is set */
void linger_begin(struct server *s, bool anybody);
void linger_check(struct server *s, uint64_t now);

/* server/privileges.c */
void privileges_begin(struct server *s);
/* the target's privileges become the server's, or it seals itself */
void privileges_follow(struct server *s);
/* the kernel shows us all of its /proc, of a zombie's, too */
bool privileges_over_target(const struct server *s);

/* server/detach.c */
void detach_ask(struct server *s, struct viewer *v); /* MTW_DETACH of the agent */
bool detach_check(struct server *s);                 /* true: hooks are out, state is set */
void detach_memory(struct server *s); /* last of all: what nobody needs before the next session */

/* server/coverage.c */
void coverage_look(void); /* attached: which modules' calls come to us; unloads are held */

/* collect/proc.c */
long proc_read(int pid, const char *file, char *buf, size_t size); /* bytes, NUL-terminated; < 0 */
long proc_open(int pid, const char *file); /* /proc/PID/FILE at its begin; < 0 */
void proc_close(long fd);
void proc_forget(void);     /* ... and begins without any */
void proc_keep(int target); /* keeps open the files that a sealed server still reads */
uint64_t proc_field(const char *stat, int field); /* of /proc/PID/stat, 3 = state, as a number */
char proc_state(const char *stat);
/* the text behind NAME: in /proc/PID/status; NULL */
const char *proc_status(const char *status, const char *name);
uint64_t proc_status_number(const char *status, const char *name); /* ... as a number; 0 */
void proc_figures(struct server *s);
void proc_identity(struct server *s); /* exe, args */
void proc_file_of(struct module *m);  /* sets m->file where m->path does not tell */

/* collect/sums.c */
bool sums_init(struct server *s);
void sums_pass(struct server *s, bool all);
void sums_threads(struct server *s);
void sums_modules(struct server *s);
struct sum *sums_at(struct server *s, slot_id id); /* NULL = never seen */
void sums_touch(struct server *s, slot_id id);     /* as if it changed in the pass to come */

/* server/commands.c: false = malformed */
bool command_run(struct server *s, struct viewer *v, uint64_t type, struct mtw_in *in);
void viewers_notice(struct server *s, int except, int only, const char *text);
void command_options(struct server *s); /* those in force at the start */

/* collect/encode.c */
void encode_pump(struct server *s, struct viewer *v, bool tick);
void encode_hello(struct server *s, struct viewer *v);

/* collect/encode_slots.c: slots and their paths, in frames sorted by id */
bool encode_slots_init(struct server *s);
bool encode_slots_list(struct server *s, struct viewer *v); /* first state; false = out of memory */
void encode_slots_first(struct server *s, struct viewer *v,
			size_t room); /* more of the first state */
bool encode_slots_sweep(struct server *s,
			struct viewer *v); /* what changed; true = nothing is left */
void encode_slots_modules(struct server *s, struct viewer *v);
MT_INLINE bool bit_get(const uint64_t *map, uint32_t i)
{
	return map[i >> 6] >> (i & 63) & 1;
}
MT_INLINE void bit_set(uint64_t *map, uint32_t i)
{
	map[i >> 6] |= 1ull << (i & 63);
}

/* collect/marks.c */
bool marks_init(struct server *s);
/* 0 = no more */
uint32_t marks_set(struct server *s, const char *name, const char *who, uint64_t epoch);
bool marks_drop(struct server *s, uint32_t id);
bool marks_rename(struct server *s, uint32_t id, const char *name);
void marks_requests(struct server *s); /* serve those that the program's threads ask for */
bool marks_send(struct server *s, struct viewer *v); /* MARK_LIVE; true = nothing is left */

/* collect/slot_snapshots.c: `total` counts the bytes of the chain */
typedef void (*kept_later)(struct server *s, void *arg, slot_id id, const struct sum *sum);
/* What changed since the pass `since`. `later` gets the slots of epochs after `epoch`, which have
 * no entry. False: no memory. */
bool snapshot_take(struct server *s, struct snapshot *k, uint32_t since, uint64_t epoch,
		   kept_later later, void *arg, size_t *total);
/* `older` stays as it is; false: no memory, `to` is wrong */
bool snapshot_merge(struct snapshot *older, struct snapshot *to, size_t *total);
void snapshot_forget(struct snapshot *k, size_t *total);
/* false: no room yet */
bool snapshot_send(struct server *s, struct viewer *v, unsigned type, uint32_t id,
		   const struct snapshot *k, struct snapshot_at *at);

/* collect/samples.c */
bool samples_init(struct server *s);
void samples_tick(struct server *s);                             /* after each pass */
void samples_newcomer(struct server *s, const struct viewer *v); /* has none */
void samples_list(const struct server *s, struct mtw_out *o);    /* MTW_SAMPLES */
bool samples_send(struct server *s, struct viewer *v); /* SAMPLE_LIVE; true = nothing is left */

/* collect/history.c */
bool history_init(struct server *s);
void history_point(struct server *s, uint64_t now, bool force);
size_t history_encode(struct server *s, uint8_t *buf, size_t size);

/* collect/scan.c */
/* Its n slots, 0 = of all. False: malformed (in->bad), or no memory. */
bool scan_ask(struct viewer *v, uint64_t request, enum mtw_kind kind, struct mtw_in *in,
	      uint64_t n);
void scan_run(struct server *s);         /* when one waits */
bool scan_waits(const struct server *s); /* one was asked for, and none is under way */
/* the target is gone: who held what is alive, and in what memory */
void scan_last(struct server *s);
/* on the way; a block is a step */
void scan_breathe(struct server *s, struct breath *b, uint32_t steps);
/* collect/scan_memory.c: the payload behind the request; false: no memory */
bool scan_memory(struct server *s, struct mtw_out *o);
void scan_drop(struct server *s, struct viewer *v); /* it goes */

#endif
