/* SPDX-License-Identifier: MIT
 *
 * loop.c - the server's main loop: one thread, one poll, ticks.
 *
 * A tick collects every change from the target (collect/sums.c), updates marks and history, and
 * sends each viewer what it lacks. With viewers a tick comes as often as the quickest of them wants
 * (100 ms by default). Without one it comes every second, for history, the clock of ages, and to
 * learn of modules before they are gone. Between ticks viewers that are still loading are fed as
 * fast as they acknowledge.
 *
 * Life: up -> (target gone: one last full collection, new viewers are refused) -> every viewer has
 * its final tick, or made no progress for a minute -> exit. A server that lingers (server/linger.c)
 * still lets memtop in.
 *
 * The server runs as a process of its own in the target's memory; collect/server.h lists what code
 * here may use.
 */
#include "server/loop.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "cfi/pages.h"
#include "collect/coverage.h"
#include "collect/history.h"
#include "collect/marks.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/peak_snapshot.h"
#include "collect/proc.h"
#include "collect/samples.h"
#include "server/service.h"
#include "collect/shared.h"
#include "collect/stops.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "dump/preconditions.h"
#include "encode/encode.h"
#include "encode/encode_slots.h"
#include "live/reclaim.h"
#include "live/ticks.h"
#include "live/trim.h"
#include "modules/maps.h"
#include "record/cost.h"
#include "record/slots.h"
#include "scan/scan.h"
#include "server/commands.h"
#include "server/detach.h"
#include "server/dlclose_wait.h"
#include "server/dump.h"
#include "server/handshake.h"
#include "server/linger.h"
#include "server/listen.h"
#include "server/privileges.h"
#include "server/signals.h"
#include "server/target_exit.h"
#include "server/viewer.h"
#include "unwind/fp_evidence.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>
#include <poll.h>
#include <signal.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* from accept to RESPONSE, and from that to CLIENT; slow links have room */
#define DOOR_PATIENCE_NS (5 * SECOND)
#define ARRIVAL_PATIENCE_NS (300 * MILLI) /* ... when somebody waits for the server's end */
#define FINAL_PATIENCE_NS (60 * SECOND)   /* without progress, when the target is gone */
#define LEAVING_PATIENCE_NS (5 * SECOND)  /* ... when the target runs on */
#define CLOSING_PATIENCE_NS (5 * SECOND)  /* for the peer to take a reason that was written */
#define LAST_PATIENCE_NS (15 * SECOND)    /* ... the final state: from one ACK to the next */
#define UNLOAD_PATIENCE_NS (2 * MILLI)
#define UNLOAD_FAILURES 20
#define TICK_LEAST_NS (20 * MILLI)
#define SIGNAL_LOOK_MS 100             /* a signal wakes nobody: server/signals.c */
#define RELEASE_AFTER_NS (200 * MILLI) /* most viewers have their final state by then */
#define ROUND_CPU_SECONDS 60 /* that one round of the loop may take: far more than any does */
#define DESCRIPTORS (VIEWERS_MAX + DOOR_PLACES + 16u)

static void leave(int status)
{
	mt_prim_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

/* A fault in the server ends the server and nothing else: no core, no signal to the target. */
static void on_fault(int sig)
{
	leave(128 + sig);
}

struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint32_t mask[2];
};

static void guard_faults(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGXCPU };
	struct kernel_sigaction sa = { on_fault, 0x04000000 /* SA_RESTORER */, NULL, { 0, 0 } };
	uint64_t mask = ~0ull, no_core[2] = { 0, 0 };

#if !defined(__x86_64__)
	sa.flags = 0;
#endif
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		mt_prim_call(SYS_rt_sigaction, faults[i], (long)&sa, 0, 8, 0, 0);
		mask &= ~(1ull << (faults[i] - 1));
	}
	mt_prim_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
	mt_prim_call(SYS_prlimit64, 0, 4 /* RLIMIT_CORE */, (long)no_core, 0, 0, 0);
}

static void raise_descriptor_limit(void)
{
	uint64_t limit[2];

	if (mt_prim_call(SYS_prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, (long)limit, 0, 0) == 0 &&
	    limit[0] < DESCRIPTORS && limit[1] > limit[0]) {
		limit[0] = limit[1] < DESCRIPTORS ? limit[1] : DESCRIPTORS;
		mt_prim_call(SYS_prlimit64, 0, 7, (long)limit, 0, 0, 0);
	}
}

/* A program that runs into its limit of memory is one to be looked at. The server's own limits are
 * no part of that: as far as it may, it has room for a viewer and a dump beyond them. */
static void raise_memory_limits(void)
{
	static const int kinds[] = { 9 /* RLIMIT_AS */, 2 /* RLIMIT_DATA */ };
	uint64_t limit[2], none[2] = { ~0ull, ~0ull };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (mt_prim_call(SYS_prlimit64, 0, kinds[i], 0, (long)limit, 0, 0) != 0 ||
		    limit[0] == none[0] ||
		    mt_prim_call(SYS_prlimit64, 0, kinds[i], (long)none, 0, 0, 0) == 0)
			continue;
		limit[0] = limit[1];
		mt_prim_call(SYS_prlimit64, 0, kinds[i], (long)limit, 0, 0, 0);
	}
}

/* A server always ends. The program may have overwritten the memory that the server walks, and an
 * endless walk uses up processor time: the kernel then sends SIGXCPU. A raw thread would take the
 * limit from its program. */
static void limit_round(struct server *s)
{
	uint64_t limit[2], until, now = server_now();
	long used[2] = { 0, 0 };

	if (s->thread_mode || now < s->service->limit_next_ns)
		return;
	s->service->limit_next_ns = now + SECOND;
	if (mt_prim_call(SYS_prlimit64, 0, 0 /* RLIMIT_CPU */, 0, (long)limit, 0, 0) != 0)
		return;
	mt_prim_call(SYS_clock_gettime, 2 /* CLOCK_PROCESS_CPUTIME_ID */, (long)used, 0, 0, 0, 0);
	until = (uint64_t)used[0] + ROUND_CPU_SECONDS;
	limit[0] = until < limit[1] ? until : limit[1];
	mt_prim_call(SYS_prlimit64, 0, 0, (long)limit, 0, 0, 0);
}

/* Settings for a process of its own; a raw thread shares these with the program and leaves them
 * alone. */
static void settle(struct server *s)
{
	mt_prim_call(SYS_prctl, PR_SET_NAME, (long)"memtop-agent", 0, 0, 0, 0);
	if (s->thread_mode)
		return;
	guard_faults();
	raise_descriptor_limit();
	raise_memory_limits();
	uint64_t wake = 1ull << (SIGUSR1 - 1);
	s->service->signal_fd =
		(int)mt_prim_call(SYS_signalfd4, -1, (long)&wake, 8, 04000 | 02000000, 0, 0);
}

bool loop_prepare(struct server *s)
{
	s->scratch = memory_map(SCRATCH_BYTES);
	s->service = memory_map(sizeof(*s->service));
	s->dumps = s->service ? &s->service->dumps : NULL;
	return s->scratch && s->service && sums_init(&s->sums) && marks_init(&s->marks) &&
	       history_init(s) && samples_init(s) && peak_snapshot_init(s) && encode_slots_init(s);
}

static void serve_meanwhile(struct server *s);

static void begin(struct server *s)
{
	s->service->listening.fd = s->service->signal_fd = -1;
	settle(s);
	for (int i = 0; i < VIEWERS_MAX; i++) {
		s->viewer[i].index = i;
		s->viewer[i].fd = -1;
	}
	s->scans.now.viewer = -1;
	s->serve_meanwhile = serve_meanwhile;
	s->start_unix_ns = mt_prim_unix_ns() - server_now();
	s->state.known = 1;
	s->state.serial = 1;
	s->service->listening.until_ns = server_now() + 2 * SECOND;
	listen_try(s, server_now());
	privileges_begin(s);
	target_begin(s);
	s->service->next_second_ns = server_now() + SECOND; /* nothing has changed yet */
	proc_identity(&s->target);
	command_options(&s->options);
	mt_cost_calibrate();
	dump_begin(s);
	/* The program may change its directory and unmount the old one: do not hold it. */
	if (!s->thread_mode)
		mt_prim_call(SYS_chdir, (long)"/", 0, 0, 0, 0, 0);
}

/* The pages of unwind tables that were read since the last time. */
static void give_tables_back(void)
{
	static uint32_t seen;
	uint32_t codes = mt_stacks_code_count();

	if (codes == seen)
		return;
	seen = codes;
	for (uint32_t id = 0, n = mt_maps_count(); id < n; id++) {
		struct module *m = mt_maps_module(id);
		uint32_t flags = m ? atomic_load_explicit(&m->xflags, memory_order_relaxed) : 0;
		if (m && !(flags & (MTW_MODULE_GONE | MTW_MODULE_VDSO | MTW_MODULE_HEAP)))
			mt_cfi_give_back(m);
	}
}

/* Before its hooks are in place, an attached agent cannot keep objects from being unloaded while it
 * reads them. */
static void look_at_modules(void)
{
	static unsigned failures;

	if (mt_state_attached() && atomic_load(&mt_state) != AGENT_ON)
		return;
	bool held = mt_dlclose_hold(UNLOAD_PATIENCE_NS);
	failures = held ? 0 : failures + 1;
	if (!held && failures < UNLOAD_FAILURES) {
		mt_maps_settle();
		return;
	}
	/* also when an unload never ends: its destructor waits, or was left by a longjmp */
	mt_maps_refresh();
	if (!held)
		return;
	coverage_look();
	give_tables_back();
	mt_dlclose_release();
}

void loop_tick(struct server *s, bool all)
{
	if (!s->over) {
		look_at_modules();
		mt_unwind_evidence_expire(server_now());
		uint64_t peak, error, at_ns;
		mt_slots_peak(&peak, &error, &at_ns);
		mt_live_give_back(server_now(), peak);
		mt_live_reclaim(server_now());
		mt_live_advance(server_now(), false);
	}
	marks_requests(s);
	peak_snapshot_before_pass(s);
	sums_pass(s, all);
	sums_modules(&s->sums);
	sums_threads(s);
	proc_figures(s);
	if (!s->over)
		stops_look(s);
	if (!s->over)
		command_fold(s);
	history_point(s, s->sums.pass_ns, s->over);
	samples_tick(s);
	peak_snapshot_tick(s);
	if (!s->over)
		linger_tell(s);
	for (int i = 0; i < VIEWERS_MAX; i++)
		if (s->viewer[i].state == VIEWER_OPEN)
			encode_pump(s, &s->viewer[i], true);
}

static uint64_t tick_length(const struct server *s)
{
	uint64_t ns = s->history->interval_ns < SECOND ? s->history->interval_ns : SECOND;

	for (int i = 0; i < VIEWERS_MAX; i++) {
		const struct viewer *v = &s->viewer[i];
		if (v->state == VIEWER_OPEN && v->tick_ns < ns)
			ns = v->tick_ns;
	}
	return ns < TICK_LEAST_NS ? TICK_LEAST_NS : ns;
}

static bool has_viewers(const struct server *s)
{
	for (int i = 0; i < VIEWERS_MAX; i++)
		if (s->viewer[i].state != VIEWER_FREE && s->viewer[i].fd >= 0)
			return true; /* a dump's has no connection */
	return false;
}

/* Is anybody left who may still take something? */
static bool anybody(struct server *s)
{
	return has_viewers(s) || !handshake_empty(s);
}

/* For those who are here, or may still come. */
static void last_tick(struct server *s)
{
	scan_last(s); /* first: the tick sends the final state */
	loop_tick(s, true);
}

/* The target is gone, or the agent is out of it. */
static void the_end(struct server *s)
{
	s->over = true;
	s->service->over_ns = server_now();
	s->target.exec_pending = false;
	dump_use_room(s);
	if (s->service->listening.fd >= 0)
		handshake_arrivals(
			s, s->service->over_ns); /* one that is just coming has its last chance */
	bool here = anybody(s);
	if (s->state.what == MTW_DETACHED)
		/* before any viewer is told: the next attach tests for a listener */
		listen_close(&s->service->listening, true);
	if (here)
		last_tick(s);
	else
		sums_pass(s, true); /* all that the board is told */
	if (dump_due_at_end(s)) {
		if (!here)
			last_tick(s);
		dump_end(s);
	}
	linger_begin(s, has_viewers(s));
	if (s->service->lingering.is && !here)
		last_tick(s);
	if (!s->service->lingering.is)
		listen_close(&s->service->listening, true);
	for (int i = 0; i < VIEWERS_MAX; i++)
		s->viewer[i].since_ns = s->service->over_ns;
	handshake_since(s, s->service->over_ns);
}

/* A window is a pair of marks. */
static void window_request(struct server *s)
{
	unsigned signals = mt_conf.window_signal[0] && !s->over ? signals_windows() : 0;

	if (!signals)
		return;
	marks_requests(s); /* theirs have older epochs */
	for (; signals; signals--) {
		marks_set(s, s->service->window ? "window.end" : "window", mt_conf.window_signal,
			  mt_slots_next_epoch());
		s->service->window = !s->service->window;
	}
	s->service->next_tick_ns = 0;
}

/* The target asks for something: an exec begins, or has failed; a mark (taken by the tick). */
static void requests(struct server *s, uint64_t now)
{
	uint32_t exec = atomic_load(&s->shared->xexec_futex);

	if (exec == EXEC_BEGINS) {
		listen_close(&s->service->listening, true);
		s->target.exec_pending = true;
		s->target.exec_since_ns = now;
		if (atomic_compare_exchange_strong(&s->shared->xexec_futex, &exec, EXEC_RELEASED))
			mt_prim_call(SYS_futex, (long)&s->shared->xexec_futex, FUTEX_WAKE, 1, 0, 0,
				     0);
	}
	if (s->target.exec_pending &&
	    (exec == EXEC_NONE || now > s->target.exec_since_ns + 2 * SECOND)) {
		s->target.exec_pending = false;
		atomic_store(&s->shared->xexec_futex, EXEC_NONE);
		s->service->listening.until_ns = now + 2 * SECOND;
	}
	for (int i = 0; i < MARK_REQUESTS; i++) {
		uint32_t state = atomic_load(&s->shared->mark[i].xstate);
		if (state == REQUEST_READY || state == REQUEST_ABANDONED)
			s->service->next_tick_ns = 0;
	}
	if (atomic_load(&s->shared->xleave) && !s->over)
		s->service->next_tick_ns = 0;
	if (atomic_exchange(&s->shared->xgiven, false))
		s->service->next_second_ns = s->service->next_tick_ns = 0;
	if (!s->over && target_announced(s))
		s->service->next_second_ns = s->service->next_tick_ns = 0;
	if (dump_asked(s))
		s->service->next_tick_ns = 0;
	window_request(s);
}

/* A viewer may get no cpu for seconds, and has then nowhere else to learn of the end. */
static uint64_t door_patience(const struct server *s)
{
	bool awaited = s->thread_mode || s->target.announced || s->state.what == MTW_DETACHED;

	return s->over && !s->service->lingering.is && awaited ? ARRIVAL_PATIENCE_NS
							       : DOOR_PATIENCE_NS;
}

/* Drops connections that do not complete their greeting, or do not read their data. */
static void patience(struct server *s, uint64_t now)
{
	viewers_count_unread(s, now);
	for (int i = 0; i < VIEWERS_MAX; i++) {
		struct viewer *v = &s->viewer[i];
		uint64_t limit = s->state.what == MTW_DETACHED ? LEAVING_PATIENCE_NS
				 : s->over                     ? FINAL_PATIENCE_NS
							       : UINT64_MAX;

		if (v->state == VIEWER_CLOSING)
			limit = v->final && s->state.what != MTW_DETACHED ? LAST_PATIENCE_NS
									  : CLOSING_PATIENCE_NS;
		if (v->state != VIEWER_FREE && now > v->since_ns && now - v->since_ns > limit)
			viewer_close(s, v);
	}
	handshake_patience(s, now, door_patience(s));
}

static int timeout_ms(const struct server *s, uint64_t now)
{
	uint64_t until = s->service->next_tick_ns;

	if (s->over)
		until = now + 100 * MILLI;
	if (scan_waits(s))
		return 0;
	if (s->service->listening.fd < 0 && !s->service->listening.given_up && !s->over &&
	    !s->target.exec_pending && s->service->listening.next_ns < until)
		until = s->service->listening.next_ns;
	if (s->target.exec_pending && now + MILLI < until)
		until = now + MILLI;
	if (s->service->listening.fd >= 0 && handshake_opens(s) > now && handshake_opens(s) < until)
		until = handshake_opens(s);
	if (until <= now)
		return 0;
	uint64_t ms = (until - now + MILLI - 1) / MILLI;
	uint64_t most = mt_conf.dump_signal[0] || mt_conf.window_signal[0] ? SIGNAL_LOOK_MS : 1000;
	return ms > most ? (int)most : (int)ms;
}

/* Waits at most so long, and serves whatever is ready. */
static void poll_once(struct server *s, int ms)
{
	struct pollfd fd[VIEWERS_MAX + 3 + DOOR_PLACES];
	int viewer[VIEWERS_MAX + 3], n = 0;
	long ts[2] = { ms / 1000, ms % 1000 * 1000000l };

	fd[n++] =
		(struct pollfd){ handshake_opens(s) > server_now() ? -1 : s->service->listening.fd,
				 POLLIN, 0 };
	fd[n++] = (struct pollfd){ s->over ? -1 : s->target.pid_fd, POLLIN, 0 };
	fd[n++] = (struct pollfd){ s->service->signal_fd, POLLIN, 0 };
	for (int i = 0; i < VIEWERS_MAX; i++) {
		const struct viewer *v = &s->viewer[i];
		if (v->state == VIEWER_FREE)
			continue;
		viewer[n] = i;
		fd[n++] = (struct pollfd){ v->fd, (short)(POLLIN | (v->out_len ? POLLOUT : 0)), 0 };
	}
	int strangers = handshake_watch(s, fd + n);
	if (mt_prim_call(SYS_ppoll, (long)fd, n + strangers, (long)ts, 0, 8, 0) <= 0)
		return;
	if (fd[1].revents)
		s->service->next_tick_ns = s->service->next_second_ns = 0;
	if (fd[2].revents) {
		uint8_t info[128 * 4];
		mt_prim_call(SYS_read, s->service->signal_fd, (long)info, sizeof(info), 0, 0, 0);
	}
	for (int i = 3; i < n; i++) {
		struct viewer *v = &s->viewer[viewer[i]];
		if (fd[i].revents & (POLLIN | POLLHUP | POLLERR))
			viewer_read(s, v);
		if (v->state != VIEWER_FREE && (fd[i].revents & POLLOUT))
			viewer_write(s, v);
	}
	handshake_ready(s, fd + n, strangers); /* before newcomers push any of them out */
	if (fd[0].revents)
		handshake_arrivals(s, server_now());
}

static void feed(struct server *s)
{
	for (int i = 0; i < VIEWERS_MAX; i++) {
		struct viewer *v = &s->viewer[i];
		if (v->state == VIEWER_OPEN && v->wants)
			encode_pump(s, v, false);
	}
}

/* walking: inside other work, which a dump would do, too. */
static void due(struct server *s, bool walking)
{
	uint64_t now = server_now();

	requests(s, now);
	if (!s->over && !s->target.exec_pending)
		listen_try(s, now);
	if (!s->over && (now >= s->service->next_tick_ns || s->target.exec_pending)) {
		bool second = now >= s->service->next_second_ns;
		if (second)
			s->service->next_second_ns = now + SECOND;
		if (target_check(s, second) || detach_check(s)) {
			the_end(s);
		} else if (now >= s->service->next_tick_ns) {
			loop_tick(s, false);
			s->stops.pause_ns = tick_length(s);
			s->service->next_tick_ns = now + s->stops.pause_ns;
			if (!walking)
				dump_check(s);
		}
	}
	patience(s, now);
	feed(s);
	linger_check(s, now);
	bool late = now > s->service->over_ns + RELEASE_AFTER_NS && anybody(s);
	if (s->over && !s->target.released && (late || (s->service->lingering.is && !anybody(s))) &&
	    s->state.what != MTW_DETACHED && target_left(&s->target)) {
		s->target.released = true;
		target_release(s);
	}
}

/* The last walks are one round, without ticks. */
static void pulse(struct server *s)
{
	uint64_t now = server_now();

	if (now < s->service->next_second_ns)
		return;
	s->service->next_second_ns = now + SECOND;
	for (int i = 0; i < VIEWERS_MAX; i++)
		encode_pulse(s, &s->viewer[i]);
}

static void serve_meanwhile(struct server *s)
{
	poll_once(s, 0);
	if (s->over) {
		pulse(s);
		return;
	}
	limit_round(s);
	due(s, true);
}

int loop_main(void *arg)
{
	struct server *s = arg;

	atomic_store(&s->shared->xtid, mt_prim_gettid());
	atomic_store(&s->shared->xpid, mt_prim_getpid());
	begin(s);
	atomic_store(&s->shared->xstate_futex, SERVER_UP);
	/*
	 * Only now: the kernel puts a new session into a scheduling group of its own (sched(7),
	 * autogroup), and a busy machine may leave such a group without its first turn for seconds,
	 * while a thread of the target is held until we are up.
	 */
	if (!s->thread_mode)
		mt_prim_call(SYS_setsid, 0, 0, 0, 0, 0, 0);
	while (!s->over || anybody(s) || s->service->lingering.is) {
		limit_round(s);
		poll_once(s, timeout_ms(s, server_now()));
		due(s, false);
		scan_run(s);
	}
	if (s->state.what == MTW_DETACHED)
		detach_memory(s);
	atomic_store(&s->shared->xstate_futex, SERVER_ENDED);
	atomic_store(&s->shared->xfinal_futex, 1);
	mt_prim_call(SYS_futex, (long)&s->shared->xfinal_futex, FUTEX_WAKE, 16, 0, 0, 0);
	mt_prim_call(s->thread_mode ? SYS_exit : SYS_exit_group, 0, 0, 0, 0, 0, 0);
	return 0;
}
