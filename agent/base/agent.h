/* SPDX-License-Identifier: MIT
 *
 * agent.h - compiler words, and the map of the functions that cross files.
 * Each group is one file; a file calls only groups above its own (hooks/malloc.c and hooks/init.c
 * are the top).
 */
#ifndef MT_AGENT_H
#define MT_AGENT_H

#include "base/types.h"
#include <stdarg.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define MT_COLD __attribute__((noinline, cold))
#define MT_INLINE static inline __attribute__((always_inline))
#define MT_EXPORT __attribute__((visibility("default")))
#define MT_PRINTF(a, b) __attribute__((format(printf, a, b)))

#include "base/self.h"

/* Data of the agent's own is reached without a detour through the table of what others may
 * define. */
#pragma GCC visibility push(hidden)

/* base/prim_linux.c: the only system calls. All return >= 0 or -errno and leave errno alone. */
/* zeroed, NOHUGEPAGE, DONTDUMP; NULL on failure */
void *mt_prim_map(size_t bytes, bool reserve_only);
/* likewise, reserve_only; there if that range is free */
void *mt_prim_map_at(uintptr_t place, size_t bytes);
void *mt_prim_map_nothing(size_t bytes); /* addresses without access; NULL on failure */
void mt_prim_unmap(void *p, size_t bytes);
void mt_prim_drop(void *p, size_t bytes); /* give the pages back, keep the range, zeroed */
uint64_t mt_prim_now_ns(void);            /* CLOCK_MONOTONIC */
uint64_t mt_prim_coarse_ns(void);         /* CLOCK_MONOTONIC_COARSE */
uint64_t mt_prim_unix_ns(void);
int mt_prim_getpid(void); /* real system call, never cached */
int mt_prim_gettid(void);
void mt_prim_sleep(uint64_t ns); /* or less, when a signal comes */
long mt_prim_call(long nr, long a, long b, long c, long d, long e, long f);
/* A system call that a distribution's seccomp filter may not list. -ENOSYS, without the call, where
 * one may be active. */
long mt_prim_call_seldom(long nr, long a, long b, long c);
long mt_prim_read_at(long fd, void *to, size_t bytes, uint64_t at); /* pread */
size_t mt_prim_page_bytes(void);
/* clone(2) with all of its arguments, as glibc has it. The child's tid, or -errno. */
int mt_prim_clone(int (*run)(void *), void *stack, int flags, void *arg, void *parent_tid,
		  void *tls, void *child_tid);
enum { PAGE_THERE = 1, PAGE_ALONE = 2 };
/* Of each page from `start` on: is it there (in memory or swapped out), and mapped by nobody else?
 * What was only read is the kernel's page of zeros, which is there, and not alone. false: nobody
 * knows. Opens a file. */
bool mt_prim_touched(uintptr_t start, size_t pages, unsigned char *touched);
bool mt_prim_barrier(void); /* each thread of the process passes one; false: none here */
bool mt_prim_readable(uintptr_t addr, size_t bytes); /* would a load fault? (never faults itself) */

/* base/msg.c: why there is no session: one line, kept for memtop, and written to stderr at start-up
 * only; no malloc. */
void mt_msg(const char *format, ...) MT_PRINTF(1, 2);
/* on no stderr: for memtop to read, as it reads what was said */
void mt_msg_keep(const char *format, ...) MT_PRINTF(1, 2);
void mt_msg_quiet(void);           /* start-up is over: stderr is the program's alone */
void mt_msg_forget(void);          /* there is a session */
uintptr_t mt_hex(const char **at); /* a hexadecimal number; moves on behind it */
size_t mt_format(char *buf, size_t size, const char *format, ...) MT_PRINTF(3, 4);
size_t mt_vformat(char *buf, size_t size, const char *format, va_list ap);

/* base/conf.c: MEMTOP_OPTIONS. false: malformed, the line was printed, stay unprofiled. */
extern struct conf mt_conf;
bool mt_conf_parse(const char *text);
void mt_conf_reset(void);                     /* as if none had been given */
size_t mt_conf_print(char *buf, size_t size); /* options in force, as they would be typed */
/* At run time; NULL, or what is wrong: apply() says that of the filter that comes of it, which is
 * then as it was. */
const char *mt_conf_set(const char *name, const char *value, const char *(*apply)(void));

/* base/arena.c: private memory, bump-allocated in chunks, never freed singly. Thread-safe, no
 * locks. */
void *mt_arena_alloc(size_t bytes); /* 16-aligned, zeroed; NULL when the cap is met */
/* for the call tree: leaves an eighth to count in what is there */
void *mt_arena_alloc_path(size_t bytes);
uint64_t mt_arena_bytes(void);                        /* handed out: what the cap is on */
void mt_arena_tell(uint64_t resident, uint64_t peak); /* bytes, for the cap; server thread */
/* what memory is for */
enum part { PART_MAP, PART_STACKS, PART_CACHES, PART_THREADS, PART_SERVER, PART_COUNT };
/* ranges */
void mt_arena_each(void (*visit)(void *arg, enum part part, uintptr_t start, uintptr_t end),
		   void *arg);
bool mt_arena_owns(uintptr_t start, uintptr_t end); /* range holds agent memory (server keeps it) */
/* register a mapping of the agent's */
void mt_arena_range(uintptr_t start, size_t bytes, enum part part);

/* server/dlclose_gate.c: no dlclose while the server looks. */
bool mt_dlclose_hold(uint64_t wait_ns); /* server; false: one does not end within that time */
void mt_dlclose_release(void);
void mt_dlclose_begin(void); /* the hook of dlclose; waits while the server holds them */
void mt_dlclose_end(void);
void mt_dlclose_forked(void); /* in a child: nobody is in the middle of one */

/* modules/real.c: the allocator behind us, and blocks served while it is being looked up. */
struct real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	/* What the program reaches, where another malloc comes before ours; NULL = ours. */
	void *(*front_realloc)(void *, size_t);
	void (*front_free)(void *);
};
extern struct real mt_real;             /* valid from the first instruction on */
bool mt_real_find(void);                /* idempotent, re-entrant */
void *mt_real_next(const char *symbol); /* RTLD_NEXT, or NULL */
bool mt_real_linked(void);              /* ... --wrap's: agent/linked/ */
/* what comes before ours; NULL = nothing, or we are attached */
void *mt_real_before(const char *symbol);
void mt_real_late(void); /* before it finds any: the agent was attached */
bool mt_real_came_late(void);
/* in scope of the module at caller; allocates */
void *mt_real_beside(uintptr_t caller, const char *symbol);
bool mt_real_is_agent(uintptr_t pc); /* code of the agent itself */
const char *mt_real_front(void);     /* whose malloc comes before ours; NULL = none's */
bool mt_real_front_part(void);       /* ... what operator new is written on comes before ours */
unsigned mt_real_granule(void);      /* smallest distance of two blocks, bytes */
/* the loader's, on our behalf: never counted */
void *mt_real_boot_alloc(size_t bytes, size_t align);
/* what those lie in; NULL = there are none, as a rule */
extern struct boot_chunk *_Atomic mt_real_boot;
bool mt_real_boot_has(const void *p);
MT_INLINE bool mt_real_boot_owns(const void *p)
{
	return unlikely(atomic_load_explicit(&mt_real_boot, memory_order_relaxed)) &&
	       mt_real_boot_has(p);
}
size_t mt_real_boot_size(const void *p);

/* modules/maps.c: loaded objects. Never takes the loader's lock on the allocation path. */
void mt_maps_init(void);
void mt_maps_refresh(void);                 /* compare with the loader's list; server thread */
struct module *mt_maps_find(uintptr_t pc);  /* lock-free; NULL = nowhere. Learns new ones. */
struct module *mt_maps_module(uint32_t id); /* NULL past mt_maps_count() */
uint32_t mt_maps_count(void);               /* ids are 0..count-1 */
uint32_t mt_maps_generation(void);          /* changes when anything was (un)loaded */
void mt_maps_restart(void);    /* another session: all that is loaded was there before */
void mt_maps_invalidate(void); /* a dlopen or dlclose begins or ends */

/* unwind/stacks.c: the trie and the interned code locations. Insert-only, lock-free readers. */
node_id mt_stacks_child(node_id parent, code_id code); /* finds or inserts; 0 with cap met */
struct node *mt_stacks_node(node_id id);               /* never NULL for an id that was returned */
uint32_t mt_stacks_count(void); /* ids 0..count-1; the newest may be unpublished (code 0) */
code_id mt_stacks_code(uintptr_t pc, uint8_t kind); /* interns; truncations: pc = reason */
const struct code *mt_stacks_code_at(code_id id);
node_id mt_stacks_truncated(unsigned reason); /* the child of the root that stands for it */
bool mt_stacks_check(void);

/* unwind/unwind.c: the engine switch; unwind/incremental.c: captures; unwind/cfi_engine.c,
 * unwind/fp.c, ...: engines. */
/* False: no such engine here. What is used then stands in mt_conf.unwind. */
/* ... whether __cyg_profile_func_enter is the agent's */
bool mt_unwind_init(const char *engine, bool enter_is_ours);
void mt_unwind_forked(void);     /* in the child, before its first stack */
const char *mt_unwind_why(void); /* why it is not what was asked for; "" = it is */
node_id mt_unwind_capture(struct thread *t, const struct regs *r); /* leaf of the whole stack */
/* innermost first */
int mt_unwind_frames(struct thread *t, const struct regs *r, void **pcs, int max);
/* The same by the best engine that there is; touches nothing, so that signal handlers may call
 * it. */
int mt_unwind_backtrace(struct thread *t, const struct regs *r, void **pcs, int max);
void mt_unwind_thread_end(struct thread *t);                       /* forget the cached stack */
void mt_unwind_effort(const struct thread *t, struct effort *sum); /* adds; server thread */
/* no table: where it has a caller, its frame pointer led there */
bool mt_unwind_by_pointer(code_id code);

/* record/live.c: address -> entry. */
bool mt_live_init(unsigned granule_bytes);
bool mt_live_ready(const void *p, size_t size); /* room for an entry; false: no memory */
/* After the real malloc, before the block is seen. True: occupied, *old was freed past us. */
bool mt_live_enter(const struct thread *t, void *p, size_t size, slot_id slot, struct block *old);
struct block mt_live_take(const void *p); /* before the real free */
bool mt_live_restore(const struct thread *t, void *p, const struct block *b, struct block *old);
bool mt_live_peek(const void *p, struct block *b);
bool mt_live_knows(const void *p); /* ... without its contents: mostly asked for filtered ones */
bool mt_live_knows_large(const void *p); /* ... where no small one has an entry */
void mt_live_restart(void);              /* nothing is alive; nobody enters */
void mt_live_dense(void);   /* no longer sampled; server thread: record/live_sampled.h */
void mt_live_suspect(void); /* blocks may be freed past us: look at each closely */
/* addr: of a small block, to the granule. Leaf by leaf, ascending within one. Server thread. */
void mt_live_scan(void (*visit)(void *arg, uintptr_t addr, const struct block *b), void *arg);
uint32_t mt_live_tick(void);                      /* current birth tick */
uint64_t mt_live_tick_ns(uint32_t tick);          /* when it began, ns since start */
void mt_live_advance(uint64_t now_ns, bool mark); /* server thread; ns since start */

/* record/slots.c: (node, epoch) -> slot, per-thread counters, sums. */
extern _Atomic uint64_t mt_epoch;
uint64_t mt_slots_next_epoch(void);          /* a mark; returns the one that ends */
void mt_slots_thread_init(struct thread *t); /* no counters yet */
slot_id mt_slots_of(node_id node);           /* its slot in the current epoch; never 0 */
slot_id mt_slots_new(node_id node, uint64_t epoch, uint32_t rate); /* one of its own; 0 = no more */
const struct slot *mt_slots_at(slot_id id);
uint32_t mt_slots_count(void);                                  /* ids 1..count-1 */
bool mt_slots_alloc(struct thread *t, slot_id s, size_t bytes); /* false: no memory to count it */
bool mt_slots_free(struct thread *t, slot_id s, size_t bytes);
bool mt_slots_weighed(struct thread *t, slot_id s, bool alloc, uint64_t blocks, uint64_t bytes);
void mt_slots_sum(slot_id s, struct tally *sum); /* over all threads: freed first, then allocated */
/* Calls changed(slot) for each slot stamped since the last call; all = every slot ever used. */
void mt_slots_collect(bool all, void (*changed)(void *arg, slot_id s), void *arg);
void mt_slots_peak(uint64_t *bytes, uint64_t *error, uint64_t *at_ns);
void mt_slots_totals(struct tally *sum); /* of all slots, by what the threads did; any thread */
void mt_slots_forked(void);              /* in a child: its peak begins with what it inherited */
void mt_slots_restart(void);             /* all counters are 0; nobody counts */

/* record/thread.c: per-thread state, its life. base/self.h: which one is the caller's. */
extern struct thread *_Atomic mt_threads;  /* list of all */
extern _Atomic uint32_t mt_thread_states;  /* its length */
struct thread *mt_thread_self(void);       /* made when missing; the shared one at worst */
struct thread *mt_thread_of_session(void); /* ... begun anew when the session is another one */
struct thread *mt_thread_shared(void);     /* any thread may add to it */
bool mt_thread_quiet(void);                /* the agent itself allocates, by way of libc */
bool mt_thread_init(void);
void mt_thread_retire_all(void);     /* a detach: whoever comes late is not counted */
void mt_thread_restart(void);        /* then: the next session begins, nobody counts yet */
bool mt_thread_forked(void);         /* in a child that nobody told it is one */
void mt_thread_fork_child(void);     /* forget the threads that did not come along */
int mt_thread_tid(pthread_t thread); /* without a system call; 0 = unknown */
void mt_thread_named(int tid, const char *name); /* tid 0 = the caller */
void mt_thread_refresh(void);                    /* names and ends from /proc; server thread */
struct thread_info {                             /* one owner of a set, past or present */
	uint32_t index;
	int tid;
	bool ended;
	char name[16];
	struct tally done;
};
uint32_t mt_thread_count(void); /* indices are 0..count-1 */
bool mt_thread_info(uint32_t index, struct thread_info *info);
/* record/filter.c: which blocks are recorded, and for how many each stands; see record/filter.h. */
const char *mt_filter_update(void); /* mt_conf is in force from now on; NULL, or what is wrong */
uint64_t mt_filter_weight(const struct block *b); /* blocks that it was counted as */
uint64_t mt_filter_rate(uint32_t rate);           /* its bytes; 0 = exact */

/* record/record.c: what hooks call. */
uint64_t mt_record_seen(const struct thread *t); /* moves with every allocation that t was shown */
/* The caller's pc, sp and fp as in struct regs. Returns p. */
void *mt_record_alloc(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
		      uintptr_t fp);
void mt_record_free(struct thread *t, void *p); /* and then lets the real allocator free it */
/* realloc: retire, count later. false: not the real allocator's: leave it */
bool mt_record_take(struct thread *t, void *p, struct block *b);
void mt_record_gone(struct thread *t, const struct block *b);             /* ... it was freed */
void mt_record_restore(struct thread *t, void *p, const struct block *b); /* ... it was not */
void mt_record_loss(unsigned reason, uint64_t bytes);
void mt_record_restart(void); /* nothing was lost; nobody counts */
void mt_record_losses(unsigned reason, uint64_t *events, uint64_t *bytes);

/*
 * server/start.c: starts the process beside the target, and speaks to it for the target's threads.
 * server/loop.c and what collect/server.h lists run in that process: server/target_exit.c
 * collect/sums.c collect/encode.c server/viewer.c collect/marks.c ...
 */
bool mt_server_start(void);       /* from the constructor, or in a forked child */
void mt_server_look(void);        /* soon: which rights the target still has */
void mt_server_exec_begins(void); /* let go of the name; called by the target */
void mt_server_exec_failed(void);
bool mt_server_would_die(void); /* of a filter of system calls that is in force */
bool mt_server_running(void);
bool mt_server_alive(void);      /* ... or ends, or was left; false: the kernel has seen its end */
bool mt_server_await(void);      /* until it listens, or cannot: false */
void mt_server_leave(void);      /* it is to take the hooks out, and end */
bool mt_server_gone(void);       /* there is none, and none that is just ending */
bool mt_server_dies_along(void); /* when the target ends, so may it, at once */
#define EXIT_UNKNOWN (-1)
void mt_server_exit(int status);           /* exit() or _exit() is under way with it; optional */
uint32_t mt_server_mark(const char *name); /* memtop_mark(): its number; 0 = no server */

/* hooks/init.c */
bool mt_init_late(void);  /* attached: all but the options; false: no memory, no such engine */
bool mt_init_early(void); /* first hook, before the constructor */
void mt_init_tell_at_exit(void);  /* the server is up: it is to learn of exit() */
void mt_init_forked(void);        /* first thing in a forked child */
void mt_init_dormant(void);       /* from a forked child's hooks: wake up? */
void mt_init_forks(void);         /* it forks a child itself: a master? */
uint64_t mt_init_waits(void);     /* a dormant process is about to wait; ns until it
				   * is to wake, 0 = it did, or never will */
void mt_init_daemon_begins(void); /* daemon() is called: its caller will end by it */
void mt_init_daemon(void);        /* daemon() has returned in the child */
void mt_init_exits(int status);   /* _exit() or exit() is under way */
void mt_init_quick(int status);   /* quick_exit() is */
void mt_init_aborts(void);        /* abort() is */

#pragma GCC visibility pop

#include "base/state.h"

#endif
