/* SPDX-License-Identifier: MIT
 *
 * thread.c - each thread's state, from its first hook to its very end, and the thread table.
 *
 * A state (struct thread) outlives its thread with all its counters. A later thread continues it
 * once the first one is gone for good (base/self.c).
 *
 * Hooks look at one word, hot->open, in memory that a fork wipes. It is NULL for a thread without a
 * state, in a forked child, while the agent itself allocates, and while the program is sampled
 * (hot->sampled); mt_gate_slow() then tells which.
 * `xbirth`, in the same memory, reads 0 in a child that no hook announced (raw clone, _Fork).
 * Children that share memory (vfork, posix_spawn) see the parent's word, which is right: they work
 * on the parent's heap, by the parent's thread.
 *
 * mmap is the only system call here on the target's threads: the tid comes from the thread library.
 */
#include "record/thread.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/self.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "base/wiped.h"
#include "record/guard.h"
#include "record/cost.h"
#include "record/loss.h"
#include "record/slots.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <memtop/wire.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOT_BYTES (512 * 1024) /* 32,768 gates; threads beyond them share one state */
#define RETIRE_TRIES 20        /* a fifth of a millisecond apart; old kernels take longer */
#define EVENT_NS 10000000u     /* more than any event takes */
#define SCAN_STATES 64         /* states that a new thread looks at for a dead owner */

/* One owner of a state, past or present. */
struct row {
	_Atomic int xtid; /* 0 = not yet published */
	_Atomic bool xended;
	struct thread *_Atomic xstate; /* while it runs */
	char name[16];
	struct tally done; /* valid once xended */
};

/* Of what the owner of a state held back from the balance (record/slots.c). */
enum rest { REST_OWNED, REST_TAKEN, REST_PUBLISHED };

#ifdef MT_TLS
static MT_TLS char early_name[16]; /* set before its first hook, for the row that it gets then */
#endif

/* first word of the wiped memory: 0 = we are a forked child. NULL = none yet */
static _Atomic uint64_t *_Atomic xbirth;
static struct hot *hots; /* the rest of it */
static _Atomic uint32_t xhot_count;

static struct row *rows; /* MTW_THREADS_MAX long */
static _Atomic uint32_t xrow_count = 1;
static struct thread *_Atomic xcursor; /* where the next search for a dead owner begins */

static struct thread shared_state;

struct thread *mt_thread_shared(void)
{
	return &shared_state;
}

bool mt_thread_quiet(void)
{
	const struct thread *self = mt_self();

	return atomic_load_explicit(&mt_setting_up, memory_order_relaxed) || (self && self->quiet);
}

bool mt_thread_init(void)
{
	if (xbirth)
		return true;
	void *wiped = mt_wiped_map(HOT_BYTES);
	rows = mt_prim_map(MTW_THREADS_MAX * sizeof(*rows), true);
	if (!wiped || !rows) {
		mt_msg("no memory for the states of threads; running unprofiled");
		return false;
	}
	if (!mt_self_init())
		return false;
	mt_arena_range((uintptr_t)wiped, HOT_BYTES, PART_THREADS);
	mt_arena_range((uintptr_t)rows, MTW_THREADS_MAX * sizeof(*rows), PART_THREADS);
	hots = (struct hot *)wiped + 1;
	mt_slots_thread_init(&shared_state);
	shared_state.shared = true;
	shared_state.busy_sp = UINTPTR_MAX; /* always the slow branch */
	mt_threads_add(&shared_state);
	atomic_store(&mt_counting, mt_session);
	atomic_store((_Atomic uint64_t *)wiped, 1); /* first: nobody must take us for a child */
	atomic_store_explicit(&xbirth, (_Atomic uint64_t *)wiped, memory_order_release);
	return true;
}

MT_FORK_CODE bool mt_thread_forked(void)
{
	if (unlikely(mt_wiped_by_hand) &&
	    atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_ON)
		mt_wiped_look();
	_Atomic uint64_t *birth = atomic_load_explicit(&xbirth, memory_order_acquire);

	return birth && !atomic_load_explicit(birth, memory_order_relaxed);
}

/* The thread library knows, without a system call: the id is part of the thread's cpu clock. */
MT_FORK_CODE int mt_thread_tid(pthread_t thread)
{
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock))
		return 0;
	return ~(clock >> 3);
}

#define BASE(t, field) __atomic_load_n(&(t)->base.field, __ATOMIC_ACQUIRE) /* end_owner()'s */

static void own_tally(const struct thread *t, struct tally *done)
{
	const struct counts *c = &t->total;

	done->free_blocks =
		atomic_load_explicit(&c->xfree_blocks, memory_order_acquire) - BASE(t, free_blocks);
	done->free_bytes =
		atomic_load_explicit(&c->xfree_bytes, memory_order_acquire) - BASE(t, free_bytes);
	done->alloc_blocks = atomic_load_explicit(&c->xalloc_blocks, memory_order_relaxed) -
			     BASE(t, alloc_blocks);
	done->alloc_bytes =
		atomic_load_explicit(&c->xalloc_bytes, memory_order_relaxed) - BASE(t, alloc_bytes);
}

static void add_tally(struct tally *sum, const struct tally *more)
{
	sum->alloc_blocks += more->alloc_blocks;
	sum->alloc_bytes += more->alloc_bytes;
	sum->free_blocks += more->free_blocks;
	sum->free_bytes += more->free_bytes;
}

/* With release, once the row is closed: a reader that sees a base of the next owner sees that, too.
 */
static void raise_base(struct thread *t, const struct tally *done)
{
	struct tally sum = t->base;

	add_tally(&sum, done);
	__atomic_store_n(&t->base.alloc_blocks, sum.alloc_blocks, __ATOMIC_RELEASE);
	__atomic_store_n(&t->base.alloc_bytes, sum.alloc_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&t->base.free_blocks, sum.free_blocks, __ATOMIC_RELEASE);
	__atomic_store_n(&t->base.free_bytes, sum.free_bytes, __ATOMIC_RELEASE);
}

/* The last owner is gone for good: close its row. The state's next owner calls this. */
static void end_owner(struct thread *t)
{
	uint32_t index = atomic_load_explicit(&t->xindex, memory_order_relaxed);
	struct tally done;

	if (t->xsession != atomic_load_explicit(&mt_session, memory_order_relaxed))
		return; /* that owner's row went with the session */
	own_tally(t, &done);
	mt_slots_ended(t);
	atomic_store_explicit(&t->xtid, 0, memory_order_relaxed);
	if (!index)
		return; /* no more indices: the next owner has none, either, and adds to this */
	struct row *r = &rows[index];
	r->done = done;
	atomic_store_explicit(&r->xended, true, memory_order_release);
	atomic_store_explicit(&r->xstate, NULL, memory_order_release);
	raise_base(t, &done);
}

static void set_name(char to[16], const char *name)
{
	size_t n = strnlen(name, 15);

	while (n && name[n - 1] == '\n')
		n--;
	memcpy(to, name, n);
	to[n] = '\0';
}

/* A thread may name itself before its first hook: for the row that it gets then, or at once where
 * nothing can keep it. */
#ifdef MT_TLS
static void note_early_name(const char *name)
{
	set_name(early_name, name);
}

static void take_early_name(struct row *r)
{
	set_name(r->name, early_name);
}
#else
static void note_early_name(const char *name)
{
	(void)name;
	if (atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_ON)
		mt_thread_self();
}

static void take_early_name(struct row *r)
{
	r->name[0] = '\0';
}
#endif

/* A state that was not in the session yet begins with nothing: its thread has left behind what it
 * was in the middle of at a detach. The session is read first, for there may be another at the
 * end. */
static void begin_owner(struct thread *t)
{
	uint32_t index = atomic_load_explicit(&xrow_count, memory_order_relaxed),
		 session = atomic_load_explicit(&mt_session, memory_order_acquire);
	int tid = mt_thread_tid(pthread_self());

	if (t->xsession != session)
		mt_slots_thread_restart(t);
	do {
		if (index >= MTW_THREADS_MAX) {
			index = 0;
			mt_record_loss(MTW_LOSS_THREADS, 0);
			break;
		}
	} while (!atomic_compare_exchange_weak(&xrow_count, &index, index + 1));
	atomic_store_explicit(&t->xindex, index, memory_order_relaxed);
	atomic_store_explicit(&t->xtid, tid, memory_order_relaxed);
	atomic_store_explicit(&t->xstack, (uintptr_t)__builtin_frame_address(0),
			      memory_order_relaxed);
	t->busy_sp = 0;
	if (t->hits)
		mt_prim_drop(t->hits, HITS * sizeof(*t->hits)); /* another stack, another index */
	t->hit_count = 0;
	t->none.sp = 0;
	t->none.slot = 0;
	t->bare = t->misses = 0;
	for (int i = 0; i < HIT_NEXT; i++)
		t->none.next[i] = &t->none;
	t->last = &t->none;
	t->link = t->none.next;
	t->deleting = 0;
	t->quiet = false;
	mt_cost_begin(t);
	if (index) {
		take_early_name(&rows[index]);
		atomic_store_explicit(&rows[index].xstate, t, memory_order_relaxed);
		atomic_store_explicit(&rows[index].xtid, tid, memory_order_release);
	}
	atomic_store_explicit(&t->xsession, session, memory_order_release);
	atomic_store(&t->xrest, REST_OWNED);
}

/* Nobody may continue a state for long, or ever, and the peak would be uncertain by what its owner
 * held back. Whoever finds the server at it passes the state over. */
void mt_thread_gone(uint32_t index)
{
	struct thread *t = atomic_load(&rows[index].xstate);
	uint32_t rest = REST_OWNED;

	if (!t || !atomic_compare_exchange_strong(&t->xrest, &rest, REST_TAKEN))
		return;
	if (atomic_load(&rows[index].xstate) == t) {
		mt_slots_ended(t);
		rest = REST_PUBLISHED;
	}
	atomic_store(&t->xrest, rest);
}

/* A state whose owner is gone; it is ours then. */
static struct thread *inherit(void)
{
	struct thread *t = atomic_load_explicit(&xcursor, memory_order_acquire);

	for (int i = 0; i < SCAN_STATES; i++, t = t->next) {
		if (!t)
			t = atomic_load_explicit(&mt_threads, memory_order_acquire);
		if (!t)
			return NULL;
		uint32_t rest = REST_OWNED;
		if (t->shared || !mt_self_inherit(t) ||
		    (!atomic_compare_exchange_strong(&t->xrest, &rest, REST_PUBLISHED) &&
		     rest == REST_TAKEN))
			continue;
		atomic_store_explicit(&xcursor, t->next, memory_order_release);
		mt_unwind_thread_end(t);
		end_owner(t);
		return t;
	}
	atomic_store_explicit(&xcursor, t, memory_order_release);
	return NULL;
}

/* The limit of memory does not refuse a state: its thread's blocks would have no stack. There are
 * no more of them than gates. */
static struct thread *new_state(void)
{
	const uint32_t gates = HOT_BYTES / sizeof(struct hot) - 1;

	if (atomic_load_explicit(&xhot_count, memory_order_relaxed) >= gates)
		return NULL;
	struct thread *t = mt_arena_alloc_for(NEED_ALWAYS, sizeof(*t));
	if (!t)
		return NULL;
	uint32_t at = atomic_fetch_add_explicit(&xhot_count, 1, memory_order_relaxed);
	if (at >= gates) {
		atomic_fetch_sub_explicit(&xhot_count, 1, memory_order_relaxed);
		return NULL;
	}
	mt_slots_thread_init(t);
	t->hot = &hots[at];
	mt_self_own(t);
	begin_owner(t);
	mt_threads_add(t);
	return t;
}

struct thread *mt_thread_self(void)
{
	struct thread *t = mt_self();

	if (likely(t))
		return t;
	if (!xbirth)
		return &shared_state;
	t = inherit();
	if (t)
		begin_owner(t);
	else
		t = new_state();
	if (!t)
		return &shared_state;
	mt_self_become(t);
	return t;
}

struct thread *mt_thread_of_session(void)
{
	struct thread *t = mt_thread_self();

	while (unlikely(!t->shared &&
			t->xsession != atomic_load_explicit(&mt_session, memory_order_relaxed))) {
		mt_unwind_thread_end(t);
		begin_owner(t);
	}
	return t;
}

/* True: t's events are over, and late ones will find that they are not counted. */
static bool retire(struct thread *t)
{
	uintptr_t busy = __atomic_load_n(&t->busy_sp, __ATOMIC_ACQUIRE);

	if (t->hot)
		hot_close(t->hot);
	if (busy_is_over(busy))
		return true;
	if (!busy || t->shared)
		__atomic_store_n(&t->busy_sp, BUSY_OVER, __ATOMIC_RELEASE);
	return false;
}

/* It may leave just now. False: it has. */
static bool overrun(struct thread *t)
{
	uintptr_t busy = __atomic_load_n(&t->busy_sp, __ATOMIC_ACQUIRE), over;

	do {
		if (busy_is_over(busy))
			return busy == BUSY_OVERRUN;
		over = !busy ? BUSY_OVER : BUSY_OVERRUN;
	} while (!__atomic_compare_exchange_n(&t->busy_sp, &busy, over, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return over == BUSY_OVERRUN;
}

static int number; /* of this process in /proc */

void mt_thread_number(int in_proc)
{
	number = in_proc;
}

/* The whole of a small /proc file of a thread's; the server's own descriptors. In a /proc of
 * another pid namespace threads have other numbers, and nothing is known of them. */
static int read_small(int tid, const char *name, char *buf, size_t size)
{
	char path[64];

	mt_format(path, sizeof(path), "/proc/%d/task/%d/%s", number, tid, name);
	long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return (int)fd;
	long n = mt_prim_call(SYS_read, fd, (long)buf, (long)size - 1, 0, 0, 0);
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	buf[n > 0 ? n : 0] = '\0';
	return (int)n;
}

/* How long it has had a cpu. */
static uint64_t ran_ns(int tid)
{
	char text[128] = "";
	uint64_t ns = 0;

	read_small(tid, "schedstat", text, sizeof(text));
	for (const char *c = text; *c >= '0' && *c <= '9'; c++)
		ns = 10 * ns + (uint64_t)(*c - '0');
	return ns;
}

/* 'R': it runs or could; 'T', 't': it is stopped; 'S': it sleeps, which no event does. */
static char run_state(int tid)
{
	char text[512];
	const char *end = read_small(tid, "stat", text, sizeof(text)) > 0 ? strrchr(text, ')') : 0;

	return end && end[1] ? end[2] : 'X';
}

/* True: t is still inside, for it got no cpu. It left by a jump if it sleeps, or has run for longer
 * than an event takes. */
static bool stays_inside(struct thread *t, uint64_t until_ns)
{
	int tid = atomic_load_explicit(&t->xtid, memory_order_relaxed);
	uint64_t ran = ran_ns(tid);
	char state;

	while (__atomic_load_n(&t->busy_sp, __ATOMIC_ACQUIRE) && overrun(t)) {
		state = run_state(tid);
		if (!strchr("RDTt", state) || ran_ns(tid) - ran > EVENT_NS)
			return false;
		if (state == 'T' || state == 't' || mt_prim_now_ns() > until_ns)
			return true;
		mt_prim_sleep(1000000);
	}
	return false;
}

/*
 * The state was OFF before. A thread that passed its gate before that may be anywhere up to its
 * guard, for as long as it likes: there it finds BUSY_OVER. It may have looked at its guard just
 * before that was written, and write over it: so each one is seen twice, with a memory barrier of
 * all threads between. One that has left by a longjmp is not waited for.
 *
 * LATE. A thread may lose its cpu between that look and that store, and come back in the next
 * session, or never. Nobody can wait for it. What it still does is harmless:
 *
 *   a free changes its own counters, which the sums leave out until the thread itself has come into
 *   the new session, and they are 0 then. Its block is of an old one: it has no entry in the map;
 *   an allocation has set its guard before it reads the era. That has moved, so it leaves the usual
 *   path, and there finds mt_counting changed (thread_is_late()). Events that take the long way ask
 *   the same after they have set the guard. One that still saw the old value is within its guard,
 *   and waited for; while it stays there, no new session begins.
 *
 * A signal handler that comes in those two instructions, itself allocates in the next session and
 * then returns would let one event count there.
 */
bool mt_thread_retire_all(uint64_t patience_ns)
{
	uint64_t end = mt_prim_now_ns() + patience_ns;
	bool all = false, inside = false;

	atomic_store(&mt_counting, SESSION_NONE);
	mt_era_next();
	for (int tries = 0; !all && tries < RETIRE_TRIES; tries++) {
		mt_prim_barrier();
		all = true;
		for (struct thread *t = atomic_load(&mt_threads); t; t = t->next)
			all &= retire(t);
		if (!all && tries > 3)
			mt_prim_sleep(200000);
	}
	for (struct thread *t = atomic_load(&mt_threads); t; t = t->next)
		inside |= overrun(t) && stays_inside(t, end);
	return !inside;
}

void mt_thread_restart(void)
{
	uint32_t session = atomic_fetch_add(&mt_session, 1) + 1;
	mt_prim_drop(rows, MTW_THREADS_MAX * sizeof(*rows));
	atomic_store(&xrow_count, 1);
	mt_slots_thread_restart(&shared_state);
	shared_state.busy_sp = UINTPTR_MAX;
	atomic_store(&shared_state.xsession, session);
	atomic_store(xbirth, 1); /* we may be a child that was forked in between */
	atomic_store(&mt_counting, session);
}

/* In the child, which has the other threads' counts but not the threads. Their states stay closed
 * instead of being passed on: the state of a parent's thread proves nothing here. */
MT_FORK_CODE void mt_thread_fork_child(void)
{
	struct thread *t = atomic_load_explicit(&mt_threads, memory_order_acquire),
		      *self = mt_self();

	for (; t; t = t->next) {
		if (t->shared)
			continue;
		hot_close(t->hot);
		t->busy_sp = 0;   /* whoever was within an event is not here */
		t->filter.on = 0; /* draws anew: siblings must not have the same samples */
		t->filter.random = 0;
		mt_cost_forked(t);
		if (t == self)
			atomic_store_explicit(&t->xtid, mt_own_pid, memory_order_relaxed);
		else if (atomic_load_explicit(&t->xtid, memory_order_relaxed))
			end_owner(t);
	}
	if (self) {
		uint32_t index = atomic_load_explicit(&self->xindex, memory_order_relaxed);
		if (index)
			atomic_store_explicit(&rows[index].xtid, self->xtid, memory_order_release);
	}
	atomic_store(xbirth, 1);
}

void mt_thread_named(int tid, const char *name)
{
	uint32_t count = mt_thread_count();
	int own = mt_thread_tid(pthread_self());

	if (!tid)
		tid = own;
	if (tid == own)
		note_early_name(name);
	for (uint32_t i = count; i-- > 1;) {
		if (atomic_load_explicit(&rows[i].xtid, memory_order_acquire) != tid)
			continue;
		set_name(rows[i].name, name);
		return;
	}
}

uint32_t mt_thread_count(void)
{
	return rows ? atomic_load_explicit(&xrow_count, memory_order_acquire) : 1;
}

bool mt_thread_info(uint32_t index, struct thread_info *info)
{
	memset(info, 0, sizeof(*info));
	info->index = index;
	if (!index) { /* what threads without an index of their own did */
		own_tally(&shared_state, &info->done);
		const struct thread *t = atomic_load_explicit(&mt_threads, memory_order_acquire);
		for (; t; t = t->next) {
			struct tally more;
			own_tally(t, &more);
			if (!t->shared && !atomic_load_explicit(&t->xindex, memory_order_relaxed))
				add_tally(&info->done, &more);
		}
		return true;
	}
	if (index >= mt_thread_count())
		return false;
	const struct row *r = &rows[index];
	info->tid = atomic_load_explicit(&r->xtid, memory_order_acquire);
	if (!info->tid)
		return false;
	memcpy(info->name, r->name, sizeof(info->name));
	info->name[sizeof(info->name) - 1] = '\0';
	const struct thread *t = atomic_load_explicit(&r->xstate, memory_order_acquire);
	if (t)
		own_tally(t, &info->done);
	/* Asked last: the state may have been passed on meanwhile, and its figures be the next
	 * owner's. */
	info->ended = atomic_load_explicit(&r->xended, memory_order_acquire);
	if (info->ended || !t)
		info->done = r->done;
	return true;
}

void mt_thread_refresh(uint32_t index)
{
	struct row *r = &rows[index];
	char name[32];
	int tid = index ? atomic_load_explicit(&r->xtid, memory_order_acquire) : 0;

	if (!tid || atomic_load_explicit(&r->xended, memory_order_acquire))
		return;
	if (read_small(tid, "comm", name, sizeof(name)) > 0)
		set_name(r->name, name);
}
