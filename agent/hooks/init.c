/* SPDX-License-Identifier: MIT
 *
 * init.c - start-up, and forked children.
 *
 *   EARLY --first hook or constructor--> ON  (counting; the constructor then starts the server)
 *                                    \-> OFF (a bad option, no memory, setuid: forward only)
 *   ON --fork, in the child--> DORMANT (counts in place, no server) --> ON, a session of its own
 *
 * A dormant child wakes when the process that forked it is gone (daemons), when it has lived for
 * two seconds (workers), or when it matters by the rule of its tree's board. It looks at the coarse
 * clock every few events as hooks run. It looks at its parent when it waits or forks (children that
 * hardly allocate), and once within a wait that outlasts the two seconds (process/wait.c). A child
 * that has begun to give up rights stays dormant: a filter that kills must not meet a server's
 * system calls, nor even a getpid of the agent.
 *
 * Before main the agent's entries leave `environ`, so main sees what its user set. The agent keeps
 * copies for the programs that it executes (hooks/follow.c).
 */
#include "hooks/init.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/libc.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/wiped.h"
#include "follow/board.h"
#include "hooks/cxx.h"
#include "hooks/follow.h"
#include "hooks/instrument.h"
#include "hooks/jemalloc.h"
#include "hooks/reals.h"
#include "live/session.h"
#include "modules/maps.h"
#include "modules/object.h"
#include "modules/real.h"
#include "modules/rebind.h"
#include "record/filter.h"
#include "record/heaps.h"
#include "record/slots.h"
#include "server/dlclose_wait.h"
#include "server/start.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memtop/options.h>

#define DORMANT_EVENTS 16                    /* hooks between two looks at the clock */
#define DORMANT_LOOK_NS (5ull * 1000 * 1000) /* clock time between two looks at the parent */
#define DORMANT_LIFE_NS (2ull * 1000 * 1000 * 1000)
#define DORMANT_SLACK_NS (20ull * 1000 * 1000) /* the coarse clock is behind by less */

MT_FORK_WORD static int parent_pid; /* who forked us */
static _Atomic uint32_t xdormant_events;
MT_FORK_WORD static _Atomic uint64_t xdormant_look;
static _Atomic int xquick = EXIT_UNKNOWN; /* what quick_exit() was called with */

static const char *variable(const char *name)
{
	const char *value = mt_state_variable(name);

	return value ? value : "";
}

/* Started by a program that is followed: its stderr is a build's or a script's, and memtop learns
 * by the board. */
static bool is_followed_child(void)
{
	return !mt_conf.wait_ns && strchr(variable(BOARD_VARIABLE "="), ':');
}

static bool set_up_engines(void)
{
	mt_maps_init();
	if (!mt_real_came_late())
		mt_hooks_enter_pass_on(mt_real_foreign("__cyg_profile_func_enter"),
				       mt_real_foreign("__cyg_profile_func_exit"));
	if (!mt_unwind_init(mt_conf.unwind, mt_hooks_enter_is_ours())) {
		mt_msg("unwind=%s: no such engine here; running unprofiled", mt_conf.unwind);
		return false;
	}
	if (!mt_live_init(mt_hooks_cxx_foreign() ? 16 : mt_real_granule())) {
		mt_msg("no address space for the live map; running unprofiled");
		return false;
	}
	return true;
}

static bool set_up(void)
{
	mt_start_ns = mt_prim_now_ns();
	mt_pid = mt_own_pid = mt_prim_getpid();
	mt_reals_init();
	if (!mt_real_find() || !mt_thread_init() || getauxval(AT_SECURE))
		return false;
	mt_hooks_cxx_init();
	mt_conf_told(variable(MTW_START_VARIABLE "="));
	if (!mt_conf_parse(variable("MEMTOP_OPTIONS=")))
		return false;
	if (is_followed_child())
		mt_msg_quiet();
	const char *wrong = mt_filter_update();
	if (wrong) {
		mt_msg("MEMTOP_OPTIONS: the value of max_size %s; running unprofiled", wrong);
		return false;
	}
	if (!set_up_engines())
		return false;
	struct rebind list[JEMALLOC_HOOKS];
	size_t count = mt_hooks_jemalloc_init(list);
	if (count)
		mt_rebind(list, count);
	return true;
}

bool mt_init_late(void)
{
	static bool again;

	mt_start_ns = mt_prim_now_ns();
	mt_pid = mt_own_pid = mt_prim_getpid();
	mt_forked_ns = 0;
	mt_before_fork = (struct tally){ 0 };
	mt_first_epoch = 0;
	mt_reals_init();
	if (!mt_thread_init())
		return false;
	mt_hooks_cxx_init();
	if (!again)
		return again = set_up_engines();
	mt_thread_restart();
	mt_live_restart();
	mt_slots_restart();
	mt_heaps_restart();
	mt_maps_restart();
	return mt_unwind_init(mt_conf.unwind, mt_hooks_enter_is_ours());
}

bool mt_init_early(void)
{
	bool expected = false;

	if (!mt_state_environment() ||
	    !atomic_compare_exchange_strong(&mt_setting_up, &expected, true))
		return false;
	int kept = errno;
	if (atomic_load(&mt_state) == AGENT_EARLY)
		atomic_store(&mt_state, set_up() ? AGENT_ON : AGENT_OFF);
	errno = kept;
	atomic_store(&mt_setting_up, false);
	return atomic_load(&mt_state) == AGENT_ON;
}

/* Allocations of the lookups come from the pool. */
void mt_init_find(void)
{
	int kept = errno;

	if (atomic_load(&mt_state) == AGENT_EARLY)
		mt_init_early();
	if (!atomic_load_explicit(&mt_reals.xfound, memory_order_acquire))
		mt_reals_init();
	errno = kept;
}

static const char *keep(const char *text, size_t len)
{
	char *copy = mt_arena_alloc(len + 1);

	return copy ? memcpy(copy, text, len) : "";
}

static const char *base_name(const char *path, size_t *len)
{
	const char *slash = memrchr(path, '/', *len);

	if (slash)
		*len -= (size_t)(slash + 1 - path);
	return slash ? slash + 1 : path;
}

/* Finds our entry and cuts it out of the list in place; the user's own stay to the byte. */
static void cut_preload(char *list)
{
	struct object o;
	const char *us = mt_object_of((const void *)(uintptr_t)mt_init_early, &o);

	if (!us || !*us)
		return;
	size_t us_len = strlen(us);
	const char *us_base = base_name(us, &us_len);
	for (char *at = list; *at;) {
		size_t len = strcspn(at, ": "), base_len = len;
		const char *base = base_name(at, &base_len);
		if (base_len != us_len || memcmp(base, us_base, us_len)) {
			at += len + strspn(at + len, ": ");
			continue;
		}
		mt_state_keep_preload(keep(at, len));
		char *rest = at + len;
		if (*rest)
			/* one separator goes with it: the one behind, else the one before */
			rest++;
		else if (at > list)
			at--;
		memmove(at, rest, strlen(rest) + 1);
		return;
	}
}

/* Remembers the agent's part; true when the whole variable must go. */
static bool take_out(char *var)
{
	static const char ld[] = "LD_PRELOAD=", mine[] = "MEMTOP_";

	if (!strncmp(var, ld, sizeof(ld) - 1)) {
		char *list = var + sizeof(ld) - 1;
		bool empty = !*list;
		cut_preload(list);
		return !*list && !empty;
	}
	if (strncmp(var, mine, sizeof(mine) - 1))
		return false;
	mt_state_keep_saved(keep(var, strlen(var)));
	return true;
}

/*
 * The kernel's auxiliary vector follows the end of the list, and Go's runtime looks for it there
 * (it ends the program where it finds something else). From the new end on it meets pairs to
 * ignore, then the vector; of an odd number of words, which no pairs fill, an empty vector: then it
 * asks /proc.
 */
static void fill_gap(char **end, char **was_end)
{
	bool pairs = (was_end - end) % 2 == 0;

	for (char **word = end; word <= was_end; word++)
		*word = pairs && (word - end) % 2 ? (char *)AT_IGNORE : NULL;
}

static void clean_environment(void)
{
	char **to = ENVIRON, **from;

	if (!to)
		return;
	for (from = ENVIRON; *from; from++)
		if (!take_out(*from))
			*to++ = *from;
	fill_gap(to, from);
}

/* Also one that does not know yet that it was forked. */
MT_FORK_CODE static bool counts(void)
{
	int state = atomic_load_explicit(&mt_state, memory_order_relaxed);

	if (state == AGENT_OFF || state == AGENT_EARLY)
		return false;
	if (mt_board_is() && mt_thread_forked())
		mt_init_forked();
	return true;
}

/* A process that gives up rights mostly sets a filter next, and libseccomp bypasses prctl() for it.
 * That filter may kill for the agent's system calls. So the agent announces nothing: the kernel
 * tells the server of the end, unless the server ends along with the process. */
MT_FORK_CODE void mt_init_exits(int status)
{
	if (!counts() || mt_state_sealed() != SEAL_NONE)
		return;
	bool served = mt_server_running();
	if ((!served && !mt_board_is()) || !mt_state_is_pid(mt_prim_getpid()))
		return;
	if (status == EXIT_UNKNOWN)
		mt_board_exits(BOARD_UNKNOWN, 0, !served);
	else
		mt_board_exits(BOARD_EXIT, (uint32_t)status & 0xff, !served);
	if (served)
		mt_server_exit(status);
}

void mt_init_quick(int status)
{
	atomic_store_explicit(&xquick, status, memory_order_relaxed);
}

/* A handler may keep the process alive: the record gets the status that applies if it ends now. */
void mt_init_aborts(void)
{
	if (mt_board_is() && counts() && mt_state_sealed() == SEAL_NONE &&
	    mt_state_is_pid(mt_prim_getpid()))
		mt_board_exits(BOARD_SIGNAL, SIGABRT, false);
}

#ifdef __BIONIC__
/* Its exit() and quick_exit() end in calls of _exit() and _Exit() that reach the hooks. */
static void tell_at_exit(void) {}
#else
/* quick_exit() does not pass its status on, and reaches no visible _exit(). Its hook has announced
 * it. */
static void at_quick(void)
{
	mt_init_exits(atomic_load_explicit(&xquick, memory_order_relaxed));
}
#endif

#if defined(__GLIBC__)
static void at_exit(int status, void *unused)
{
	(void)unused;
	mt_init_exits(status);
}

static void tell_at_exit(void)
{
	on_exit(at_exit, NULL);
	at_quick_exit(at_quick);
}
#elif !defined(__BIONIC__)
/* Others do not say what it ends with. */
static void at_exit(void)
{
	mt_init_exits(EXIT_UNKNOWN);
}

static void tell_at_exit(void)
{
	atexit(at_exit);
	at_quick_exit(at_quick);
}
#endif

/* A server reads the last counters after the process is gone. A server that ends with the process
 * must be told, and one that writes a dump then, so that the process waits for it. A forked child
 * may have no server: then its record must say how it ended. The constructor registers this so
 * early that it is called last of all. */
void mt_init_tell_at_exit(void)
{
	static _Atomic bool xtold;

	if ((mt_server_dies_along() || mt_server_dumps_at_exit() || mt_board_is()) &&
	    !atomic_exchange(&xtold, true))
		tell_at_exit();
}

/* The variable that the program came with; NULL = none. */
static const char *board_value(void)
{
	static const char name[] = BOARD_VARIABLE "=";

	for (unsigned i = 0; mt_state_saved(i); i++)
		if (!strncmp(mt_state_saved(i), name, sizeof(name) - 1))
			return mt_state_saved(i) + sizeof(name) - 1;
	return NULL;
}

/* A filter that came with the program, and that would kill for it, leaves no board; see
 * server/seccomp_probe.c. */
static void begin_on_board(void)
{
	const char *board = board_value();

	if (board && !mt_server_would_die())
		mt_board_open(board);
	mt_board_runs(mt_state_program(), (const char *)getauxval(AT_EXECFN));
}

/* By a static launcher that memtop started: all that it executes have the same variables, also when
 * memtop is gone. */
static bool is_launched(void)
{
	const char *board = board_value();

	return board && *board && board[strlen(board) - 1] == BOARD_LAUNCHED;
}

static void start_session(void)
{
	if (atomic_load(&mt_state) == AGENT_EARLY)
		mt_init_early();
	clean_environment();
	if (atomic_load(&mt_state) == AGENT_ON) {
		mt_thread_self();
		mt_thread_named(0, mt_state_program());
		mt_follow_init();
		begin_on_board();
		if (is_launched() && !mt_board_begins())
			mt_conf.wait_ns = 0;
		mt_server_start();
		mt_init_tell_at_exit();
	}
}

__attribute__((constructor)) static void begin(void)
{
	int kept = errno, early = AGENT_EARLY;

	if (mt_object_interposes())
		start_session();
	else /* loaded by a dlopen: nothing happens until memtop_attach() */
		atomic_compare_exchange_strong(&mt_state, &early, AGENT_OFF);
	mt_msg_quiet();
	errno = kept;
}

void (*_Atomic mt_init_in_child)(void);

/* In the child, by its only thread: from the fork hook, or from the first hook after. */
MT_FORK_CODE void mt_init_forked(void)
{
	int state = atomic_load_explicit(&mt_state, memory_order_relaxed);

	if (mt_wiped_by_hand)
		mt_wiped_look();
	if (!mt_thread_forked() || state == AGENT_OFF || state == AGENT_EARLY)
		return;
	parent_pid = mt_own_pid;
	/* that of its only thread */
	mt_own_pid =
		mt_state_sealed() == SEAL_NONE ? mt_prim_getpid() : mt_thread_tid(pthread_self());
	if (mt_conf.wait_ns)
		mt_conf.wait_ns = 0; /* a viewer comes to the first program */
	mt_forked_ns = mt_prim_coarse_ns();
	atomic_store_explicit(&xdormant_look, mt_forked_ns, memory_order_relaxed);
	atomic_store_explicit(&mt_state, AGENT_DORMANT, memory_order_release);
	mt_dlclose_forked();
	mt_unwind_forked();
	mt_thread_fork_child();
	mt_live_forked();
	mt_slots_forked();
	void (*undo)(void) = atomic_load_explicit(&mt_init_in_child, memory_order_relaxed);
	if (undo)
		undo();
	mt_slots_totals(&mt_before_fork);
	mt_board_forked(mt_own_pid, &mt_before_fork);
}

/* By the tree's rule, where there is one: after that time it matters. */
static uint64_t dormant_life(void)
{
	uint64_t matters = mt_board_life_ns();

	return matters < DORMANT_LIFE_NS ? matters : DORMANT_LIFE_NS;
}

/* A parent in another pid namespace has no number here, nor has its successor: then the answer is
 * unknown. */
static bool parent_gone(void)
{
	long parent = mt_prim_call(SYS_getppid, 0, 0, 0, 0, 0, 0);

	return parent && parent != parent_pid;
}

MT_COLD static void wake_up(void)
{
	int dormant = AGENT_DORMANT;

	if (mt_prim_getpid() != mt_own_pid) /* its child of vfork */
		return;
	if (!atomic_compare_exchange_strong(&mt_state, &dormant, AGENT_ON))
		return;
	mt_pid = mt_own_pid;
	mt_server_start();
}

void mt_init_daemon_begins(void)
{
	if (counts())
		mt_board_exits(BOARD_EXIT, 0, false);
}

void mt_init_daemon(void)
{
	if (mt_thread_forked())
		mt_init_forked();
	if (mt_state_sealed() == SEAL_NONE)
		wake_up();
}

MT_FORK_CODE void mt_init_forks(void)
{
	atomic_store_explicit(&mt_forks, true, memory_order_relaxed);
	if (atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_DORMANT &&
	    !mt_thread_forked() && mt_state_sealed() == SEAL_NONE &&
	    mt_prim_getpid() == mt_own_pid && parent_gone())
		wake_up();
}

uint64_t mt_init_waits(void)
{
	if (mt_thread_forked())
		mt_init_forked();
	if (mt_state_sealed() != SEAL_NONE ||
	    atomic_load_explicit(&mt_state, memory_order_relaxed) != AGENT_DORMANT)
		return 0;
	uint64_t lived = mt_prim_coarse_ns() - mt_forked_ns, life = dormant_life();
	mt_board_write(false);
	if (lived <= life && !mt_board_due() && !mt_board_churned() && !parent_gone())
		return life - lived + DORMANT_SLACK_NS;
	wake_up();
	return 0;
}

void mt_init_dormant(void)
{
	bool due = mt_board_due();

	if (atomic_fetch_add_explicit(&xdormant_events, 1, memory_order_relaxed) % DORMANT_EVENTS &&
	    !due)
		return;
	uint64_t now = mt_prim_coarse_ns();
	if (!due &&
	    now - atomic_load_explicit(&xdormant_look, memory_order_relaxed) < DORMANT_LOOK_NS)
		return;
	atomic_store_explicit(&xdormant_look, now, memory_order_relaxed);
	mt_board_write(false);
	if (mt_state_sealed() == SEAL_NONE &&
	    (due || mt_board_churned() || now - mt_forked_ns > dormant_life() || parent_gone()))
		wake_up();
}
