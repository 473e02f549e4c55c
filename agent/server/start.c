/* SPDX-License-Identifier: MIT
 *
 * start.c - the target's side of its server: starts it, and talks to it.
 *
 * The server is not a thread of the C library: a pthread would keep a main that calls pthread_exit
 * from ending, make unshare(CLONE_NEWUSER) fail, and disable glibc's and libstdc++'s
 * single-threaded short cuts. It is a process of its own that shares this memory (CLONE_VM without
 * CLONE_THREAD). It has its own descriptors and its own thread pointer, so nothing that it touches
 * can be the caller's errno.
 *
 * wait() must not see it. So the target clones a process and sleeps until that is gone
 * (CLONE_VFORK). That process waits for nothing: it closes every inherited descriptor, clones the
 * server and exits. The server falls to init, or to a subreaper further out. The process in between
 * has no exit signal, so the program notices neither SIGCHLD nor a zombie; __WCLONE reaps it here.
 * CLONE_UNTRACED keeps it from a debugger that waits for the program's own fork.
 *
 * Process 1 of a pid namespace (of most containers) and a subreaper inherit orphans. There the
 * server is made their child (CLONE_PARENT), and has no exit signal either: wait() does not see it,
 * except with __WALL or __WCLONE. When process 1 ends, the kernel kills its whole namespace. So
 * mt_server_exit() announces the target's exit to a server there, and the target waits until
 * viewers have its last figures.
 *
 * Where the next child becomes process 1 of a new pid namespace (unshare -p PROG), the agent may
 * clone no process: the namespace would end with it, and the program could never fork again. A
 * thread cannot be made there either.
 *
 * The server's necessities (memory; a socket; under a seccomp filter all its system calls:
 * server/seccomp_probe.c) are tested before it starts, because later it could not report the
 * failure.
 *
 * Where a process is refused (qemu-user) a raw thread is cloned, with its own descriptors.
 * Everything works except unshare(CLONE_NEWUSER), and mt_server_exit() sends its last data.
 *
 * Everything here runs on threads of the target and touches no descriptor of the program.
 */
#include "server/start.h"
#include "base/arena.h"
#include "base/clone.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/self.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "base/wiped.h"
#include "collect/memory.h"
#include "collect/proc.h"
#include "server/service.h"
#include "collect/shared.h"
#include "dump/preconditions.h"
#include "record/slots.h"
#include "server/descriptors.h"
#include "server/handshake.h"
#include "server/listen.h"
#include "server/loop.h"
#include "server/seccomp_probe.h"
#include "server/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <memtop/wire.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ROOM_BYTES 16384
/* The kernel writes xtid before the server runs, and clears it when the server ends in any way:
 * pids are reused. */
#define ITS_LIFE (CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#define STACK_BYTES (256u << 10)
#define BETWEEN_BYTES (16u << 10)
#define EXEC_PATIENCE_NS (20 * MILLI) /* the exec waits so long for the name to be let go */
#define MARK_PATIENCE_NS (200 * MILLI)
#define EXIT_PATIENCE_NS (2 * SECOND)  /* for the viewers to take the last figures */
#define DUMP_PATIENCE_NS (10 * SECOND) /* for a dump to be written */
#define EXIT_HURRY_NS (500 * MILLI)    /* ... when the server may live on */
#define FIRST_NAMESPACE 0xEFFFFFFCu    /* the whole machine's: PROC_PID_INIT_INO */
#define START_PATIENCE_NS (60 * SECOND)

/* The server's block: its stack, then thread-local storage around the thread pointer. */
struct start {
	struct server *server;
	uint8_t *stack;
	void *tls;
	bool killed;     /* a filter kills for what it calls */
	long refused;    /* -errno of what no server can be without: a socket */
	int dead;        /* a child without exit signal that has ended; 0 = none */
	bool was_server; /* ... and was a server */
};

static uint64_t block_signals(void)
{
	uint64_t all = ~0ull, old = 0;

	mt_prim_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0, 0);
	return old;
}

static void restore_signals(uint64_t old)
{
	mt_prim_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0, 0);
}

/* Sleeps while *word is `is`, at most until the deadline. */
static void futex_wait(_Atomic uint32_t *word, uint32_t is, uint64_t deadline_ns)
{
	while (atomic_load_explicit(word, memory_order_acquire) == is) {
		uint64_t now = mt_prim_now_ns();
		if (now >= deadline_ns)
			return;
		uint64_t left = deadline_ns - now;
		long ts[2] = { (long)(left / SECOND), (long)(left % SECOND) };
		mt_prim_call(SYS_futex, (long)word, FUTEX_WAIT, (long)is, (long)ts, 0, 0);
	}
}

/* How far around the thread pointer the agent's own variables may lie. */
#if defined(__GLIBC__)
static size_t tls_bytes(uintptr_t self)
{
	uintptr_t ours = (uintptr_t)&mt_self_tls; /* always at a fixed place from it */

	return ours < self ? self - ours : ours - self;
}
#elif defined(__BIONIC__)
static size_t tls_bytes(uintptr_t self)
{
	(void)self;
	return 0; /* the agent has none there, and asks for its state on no thread of its own */
}
#else
#define TLS_NEAR (1u << 20)

static size_t tls_bytes(uintptr_t self)
{
	uintptr_t ours = (uintptr_t)&mt_self_tls;
	size_t away = ours < self ? self - ours : ours - self;

	return away < TLS_NEAR ? away : 0; /* further away they are found through the dtv alone */
}
#endif

#if defined(__GLIBC__) || defined(__BIONIC__)
static void give_dtv(void **tp, uint8_t *room)
{
	(void)tp;
	(void)room;
}
#else
static int find_own_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t data = (uintptr_t)info->dlpi_tls_data, ours = (uintptr_t)&mt_self_tls;

	(void)size;
	for (int i = 0; data && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS && ours >= data &&
		    ours < data + info->dlpi_phdr[i].p_memsz) {
			*(size_t *)arg = info->dlpi_tls_modid;
			return 1;
		}
	return 0;
}

/* musl finds the storage of a library that was loaded late through the thread's dtv, a table whose
 * word 0 is the length. The server has its own dtv, with zeroes for the agent, both in `room`. */
static void give_dtv(void **tp, uint8_t *room)
{
	/* behind the thread pointer, or before it where storage lies above that */
#ifdef __x86_64__
	const int at = 1;
#else
	const int at = -1;
#endif
	uintptr_t *callers = ((uintptr_t **)mt_thread_pointer())[at],
		  *dtv = (uintptr_t *)(void *)room;
	/* asked for once: in a forked child the loader's lock may be held for good */
	static size_t own;

	if (!own)
		dl_iterate_phdr(find_own_tls, &own);
	if (!own || !callers || callers[0] < own || callers[0] >= ROOM_BYTES / 2 / sizeof(*dtv))
		return;
	memcpy(dtv, callers, (callers[0] + 1) * sizeof(*dtv));
	dtv[own] = (uintptr_t)room + ROOM_BYTES / 2;
	tp[at] = dtv;
}
#endif

/*
 * Thread-local storage for the server. No code that runs there should use any, but the agent's own
 * few bytes and libc's header must be readable, on both sides of the thread pointer.
 */
static void *make_tls(void)
{
	size_t half = tls_bytes((uintptr_t)mt_thread_pointer()) + 16384 + ROOM_BYTES;

	half = (half + 4095) & ~(size_t)4095;
	uint8_t *p = memory_map(2 * half);
	if (!p)
		return NULL;
	void **tp = (void **)(p + half);
	tp[0] = tp; /* x86-64: %fs:0, and the header's self */
	tp[2] = tp;
	give_dtv(tp, p + 2 * half - ROOM_BYTES);
	return tp;
}

/* The process in between: lives for some 100 microseconds, while the caller sleeps. */
static int between(void *arg)
{
	struct start *st = arg;
	struct server *s = st->server;

	if (mt_prim_call(SYS_getppid, 0, 0, 0, 0, 0, 0) != s->target.pid)
		return 0; /* killed already */
	uint64_t no_core[2] = { 0, 0 };
	mt_prim_call(SYS_prlimit64, 0, 4 /* RLIMIT_CORE */, (long)no_core, 0, 0, 0);
	descriptors_close();
	st->was_server = st->dead && proc_is_server(st->dead);
	long fd = mt_prim_call(SYS_socket, s->service->listening.port ? AF_INET : AF_UNIX,
			       SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0);
	if (fd < 0) {
		st->refused = fd;
		return 0;
	}
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	s->target.pid_fd = (int)mt_prim_call_seldom(SYS_pidfd_open, s->target.pid, 0, 0);
	/* Shared memory? An emulator may have made this a fork, where the server would serve a
	 * copy. */
	atomic_store(&s->shared->xstate_futex, SERVER_STARTING);
	if (mt_prim_clone(loop_main, st->stack + STACK_BYTES - 64,
			  CLONE_VM | CLONE_SETTLS | ITS_LIFE |
				  (s->service->is_child ? CLONE_PARENT : 0),
			  s, &s->shared->xtid, st->tls, &s->shared->xtid) < 0)
		atomic_store(&s->shared->xstate_futex, SERVER_FAILED);
	return 0;
}

/* Do orphans fall to this process? */
static bool inherits(int pid)
{
	int is = 0;

	mt_prim_call(SYS_prctl, PR_GET_CHILD_SUBREAPER, (long)&is, 0, 0, 0, 0);
	return is || pid == 1;
}

/*
 * The namespace's number; 0 = no such link, or no process is in it yet. A filter may kill for
 * readlink; loaders use stat.
 */
static uint64_t namespace_of(const char *link)
{
	call_stat st;

	return mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)link, (long)&st, 0, 0, 0) == 0 ? st.st_ino
											 : 0;
}

/* Reads the pid namespaces of this process and of its children. false: the children get another
 * one. */
static bool look_at_namespaces(struct server *s)
{
	static const char children[] = "/proc/thread-self/ns/pid_for_children";
	uint64_t own = namespace_of("/proc/thread-self/ns/pid"), theirs = namespace_of(children);
	call_stat st;

	/* The process that it hangs on is 1, an init or a shell, which often ends when its only
	 * child does. */
	s->dies_along = s->target.pid == 1 || (own && own != FIRST_NAMESPACE);
	if (!own) /* no /proc here */
		return true;
	if (!theirs) /* or Linux before 4.12, which has no such name */
		return mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)children, (long)&st,
				    AT_SYMLINK_NOFOLLOW, 0, 0) != 0;
	return own == theirs;
}

/*
 * The server of a former session, also of the program that this process was before an exec: only a
 * program that asks for children without exit signal would ever reap it. One for each that is
 * started, so they do not become more.
 */
static int dead_child(void)
{
	siginfo_t dead;

	dead.si_pid = 0;
	return mt_prim_call(SYS_waitid, P_ALL, 0, (long)&dead,
			    WEXITED | WNOHANG | WNOWAIT | __WCLONE, 0, 0)
		       ? 0
		       : dead.si_pid;
}

static bool start_process(struct start *st)
{
	/* Not memory_map's: its list is the server's alone from the clone on, and this goes after
	 * it. */
	uint8_t *stack = mt_prim_map(BETWEEN_BYTES, true);
	if (!stack)
		return false;
	st->server->service->is_child = mt_shared->is_child = inherits(st->server->target.pid);
	st->dead = st->server->service->is_child ? dead_child() : 0;
	int status = 0,
	    pid = mt_prim_clone(between, stack + BETWEEN_BYTES - 64,
				CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, st, NULL, NULL, NULL);
	if (pid > 0)
		mt_prim_call(SYS_wait4, pid, (long)&status, __WCLONE, 0, 0, 0);
	if (st->was_server)
		mt_prim_call(SYS_wait4, st->dead, 0, __WCLONE | WNOHANG, 0, 0, 0);
	st->killed = WIFSIGNALED(status);
	mt_prim_unmap(stack, BETWEEN_BYTES);
	uint32_t state = atomic_load(&mt_shared->xstate_futex);
	return state != SERVER_NONE && state != SERVER_FAILED;
}

/* The thread's first code. It must not live in the program's table of descriptors. */
static int in_thread(void *arg)
{
	struct server *s = arg;

	if (s->service->shares_files && mt_prim_call(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0) < 0) {
		atomic_store(&s->shared->xstate_futex, SERVER_FAILED);
		mt_prim_call(SYS_exit, 0, 0, 0, 0, 0, 0);
	}
	descriptors_close();
	return loop_main(s);
}

static bool start_thread(struct start *st)
{
	/* Emulators know threads only that share all of it. */
	static const int shares[] = { 0, CLONE_FS | CLONE_FILES | CLONE_SYSVSEM };
	struct server *s = st->server;
	int tid = -1;

	s->thread_mode = s->dies_along = mt_shared->thread_mode = mt_shared->dies_along = true;
	s->target.pid_fd = -1;
	for (int i = 0; i < 2 && tid < 0; i++) {
		s->service->shares_files = shares[i] != 0;
		atomic_store(&mt_shared->xstate_futex, SERVER_STARTING);
		tid = mt_prim_clone(in_thread, st->stack + STACK_BYTES - 64,
				    CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
					    ITS_LIFE | shares[i],
				    s, &mt_shared->xtid, st->tls, &mt_shared->xtid);
	}
	/* Until it has closed its copies of the program's descriptors. */
	if (tid > 0)
		mt_server_await();
	return tid > 0 && atomic_load(&mt_shared->xstate_futex) != SERVER_FAILED;
}

static const char *refusal(const struct start *st)
{
	return st->killed    ? "a filter of system calls would end the agent's server"
	       : st->refused ? "the system refuses a socket"
			     : "the system refuses to start the server";
}

bool mt_server_start(void)
{
	int saved = errno;
	bool ok = false, again = mt_server_lost();

	proc_forget();
	if (mt_shared && mt_shared->own)
		memory_release(); /* of the last session */
	else
		memory_forget(); /* a forked child has the list, and not what it lists */
	struct server *s = memory_map(sizeof(*s));
	struct start st = { s, memory_map(STACK_BYTES), make_tls(), false, 0, 0, false };

	/* of the last session, or a copy of the page of the process that forked us */
	bool known = mt_shared;
	if (known)
		memset(mt_shared, 0, sizeof(*mt_shared));
	else
		mt_shared = mt_wiped_map(sizeof(*mt_shared));
	if (mt_shared)
		mt_shared->own = true;
	if (!s || !st.stack || !st.tls || !mt_shared || !loop_prepare(s)) {
		mt_msg("no memory for the server; nobody can watch this process");
		goto out;
	}
	if (!known)
		mt_arena_range((uintptr_t)mt_shared, sizeof(*mt_shared), PART_SERVER);
	s->shared = mt_shared;
	s->target.pid = mt_prim_getpid();
	s->target.number = proc_own();
	mt_thread_number(s->target.number);
	if (!listen_parse(s) || (s->service->listening.port && !handshake_seed(s)))
		goto out;
	if (!look_at_namespaces(s)) {
		mt_msg("the next child of this process enters another pid namespace, and must not "
		       "be the agent's server; nobody can watch this process (with unshare: use "
		       "--fork)");
		goto out;
	}
	mt_shared->dies_along = s->dies_along;
	uint64_t mask = block_signals();
	st.killed = seccomp_probe_kills(&s->privileges.user_is_fixed);
	if (!st.killed)
		mt_server_inherits(inherits(s->target.pid));
	ok = !st.killed && (start_process(&st) || (!st.refused && !st.killed && start_thread(&st)));
	restore_signals(mask);
	if (!ok) {
		atomic_store(&mt_shared->xstate_futex, SERVER_FAILED);
		mt_msg("%s; nobody can watch this process", refusal(&st));
		goto out;
	}
	mt_msg_forget();
	mt_signals_begin();
	if (mt_conf.wait_ns && !again)
		futex_wait(&mt_shared->xviewer_futex, 0, mt_prim_now_ns() + mt_conf.wait_ns);
out:
	errno = saved;
	return ok;
}

bool mt_server_would_die(void)
{
	uint64_t mask = block_signals();
	bool changes_kill, would = seccomp_probe_kills(&changes_kill);

	restore_signals(mask);
	return would;
}

/* One that ends by itself says SERVER_ENDED first. A forked child reads a wiped page. */
bool mt_server_lost(void)
{
	uint32_t state = mt_shared ? atomic_load(&mt_shared->xstate_futex) : SERVER_NONE;

	return (state == SERVER_UP || state == SERVER_FAILED) && !mt_server_alive() &&
	       atomic_load(&mt_state) == AGENT_ON;
}

/* Also while it starts: the kernel wrote its number before it ran. */
MT_FORK_CODE bool mt_server_running(void)
{
	uint32_t state = mt_shared ? atomic_load(&mt_shared->xstate_futex) : SERVER_NONE;

	return (state == SERVER_STARTING || state == SERVER_UP) && mt_server_alive();
}

/*
 * It says so when its socket is bound, or cannot be; not slept on, for that is a millisecond's
 * wait. On a busy machine the server may wait seconds for a cpu, which is no failure. Its end is
 * one.
 */
bool mt_server_await(void)
{
	uint64_t until = mt_prim_now_ns() + START_PATIENCE_NS;

	while (atomic_load(&mt_shared->xstate_futex) == SERVER_STARTING &&
	       atomic_load(&mt_shared->xtid) && mt_prim_now_ns() < until)
		mt_prim_sleep(MILLI);
	return mt_server_running() && atomic_load(&mt_shared->xstate_futex) == SERVER_UP;
}

static void wake_server(void)
{
	int pid = atomic_load(&mt_shared->xpid), tid = atomic_load(&mt_shared->xtid);

	if (tid > 0)
		mt_prim_call(SYS_tgkill, pid, tid, SIGUSR1, 0, 0, 0);
}

void mt_server_inherits(bool orphans)
{
	if (mt_shared && mt_shared->own && mt_state_sealed() == SEAL_NONE)
		atomic_store(&mt_shared->xinherits, (orphans || mt_pid == 1) && proc_own());
}

void mt_server_leave(void)
{
	if (!mt_server_running())
		return;
	atomic_store(&mt_shared->xleave, true);
	wake_server();
}

/* A server that has removed the hooks still serves the last state, and needs its stack until the
 * kernel has cleared its number. The next attach tries again, because no thread of the target waits
 * for that. */
bool mt_server_gone(void)
{
	for (int i = 0; i < 20; i++) {
		if (!mt_shared || !atomic_load(&mt_shared->xtid))
			return true;
		mt_prim_sleep(MILLI);
	}
	return false;
}

/* Wakes nobody: the program may be under a filter now. */
void mt_server_look(void)
{
	if (mt_server_running())
		atomic_store(&mt_shared->xgiven, true);
}

void mt_server_exec_begins(void)
{
	if (!mt_server_running() ||
	    atomic_exchange(&mt_shared->xexec_futex, EXEC_BEGINS) != EXEC_NONE)
		return;
	wake_server();
	futex_wait(&mt_shared->xexec_futex, EXEC_BEGINS, mt_prim_now_ns() + EXEC_PATIENCE_NS);
}

void mt_server_exec_failed(void)
{
	if (mt_server_running() && atomic_exchange(&mt_shared->xexec_futex, EXEC_NONE) != EXEC_NONE)
		wake_server();
}

bool mt_server_dies_along(void)
{
	return mt_server_running() && mt_shared->dies_along;
}

bool mt_server_dumps_at_exit(void)
{
	return mt_server_running() && (mt_conf.dump_at_exit || mt_conf.dump_on_fail);
}

void mt_server_exit(int status)
{
	if (!mt_server_running())
		return;
	atomic_store(&mt_shared->xexit,
		     status == EXIT_UNKNOWN ? EXITS : 1u + (uint32_t)(status & 0xff));
	bool surely = mt_shared->thread_mode || mt_pid == 1,
	     dumps = status != EXIT_UNKNOWN && dump_at_status(status & 0xff);
	if (!dumps &&
	    (!mt_shared->dies_along || (!surely && !atomic_load(&mt_shared->xviewer_futex))))
		return;
	wake_server();
	futex_wait(&mt_shared->xfinal_futex, 0,
		   mt_prim_now_ns() + (dumps    ? DUMP_PATIENCE_NS
				       : surely ? EXIT_PATIENCE_NS
						: EXIT_HURRY_NS));
}

uint32_t mt_server_mark(const char *name)
{
	struct mark_request *q = NULL;
	uint32_t id = 0;

	if (!mt_server_running())
		return 0;
	for (int i = 0; i < MARK_REQUESTS && !q; i++) {
		uint32_t is = REQUEST_FREE;
		if (atomic_compare_exchange_strong(&mt_shared->mark[i].xstate, &is,
						   REQUEST_FILLING))
			q = &mt_shared->mark[i];
	}
	if (!q)
		return 0;
	size_t len = name ? strlen(name) : 0;
	len = len > MTW_NAME_MAX ? MTW_NAME_MAX : len;
	memcpy(q->name, name ? name : "", len);
	q->name[len] = 0;
	q->epoch = mt_slots_next_epoch();
	atomic_store(&q->xstate, REQUEST_READY);
	wake_server();
	futex_wait(&q->xstate, REQUEST_READY, mt_prim_now_ns() + MARK_PATIENCE_NS);
	uint32_t is = REQUEST_READY;
	if (!atomic_compare_exchange_strong(&q->xstate, &is, REQUEST_ABANDONED)) {
		id = q->id;
		atomic_store(&q->xstate, REQUEST_FREE);
	}
	return id;
}
