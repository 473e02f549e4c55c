/* SPDX-License-Identifier: MIT
 *
 * inject.c - finds a thread at a safe point, makes it load the agent, and restores it.
 *
 *   candidates: waiting threads first, then running ones, then those in a futex, in turn for 2 s
 *   stop -> judge -> run on for some 100 us -> stop ... -> borrow -> mmap a stack ->
 *   __errno_location, dlopen, memtop_attach -> munmap -> give back -> let go
 *
 * The calls use a stack of their own: the thread's may be small, and stays untouched. Its errno is
 * kept.
 *
 * The target comes first. A time limit ends only the user's wait, with a message; it ends nothing
 * in the target. memtop waits for a thread that has not stopped yet: otherwise its wait
 * (epoll_wait) would return EINTR for a stop that never came. memtop waits for a call: otherwise
 * the loader's lock would stay locked. It gives up only a call that hangs (attach/ptrace/stuck.c):
 * it then restores the thread's registers and leaves the stack mapped, since something may still
 * point to it.
 *
 * A wait that the stop ended is restarted. The kernel restarts most by itself. epoll_wait and a few
 * others return EINTR even without a signal, which programs do not expect. memtop changes their
 * result to the one that the kernel restarts, or turns into EINTR when a handler runs first.
 */
#include "attach/ptrace/inject.h"
#include "attach/ptrace/stopped_process.h"
#include "base/format.h"
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <memtop/memtop.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 20000000ull      /* how often such a call is checked */
#define STACK_BYTES (260 * 1024) /* with a guard page, and the strings at its upper end */
#define GUARD_BYTES 4096
#define TEXT_BYTES 4096 /* of one string */
#define NO_OPTION "?"   /* is none of any version */

static const char *how(enum inject_stop s, const struct inject_thread *t, char *buf, size_t size)
{
	char name[FORMAT_SIGNAL];

	if (s == STOP_FAULT)
		snprintf(buf, size, "caused %s", format_signal(t->signal, name));
	else
		snprintf(buf, size,
			 s == STOP_LATE ? "hangs in a lock" : "did not finish: the process ended");
	return buf;
}

/* Handles a call that did not return: the thread stays stopped so that it can be restored. */
static int call_failed(struct inject_work *w, enum inject_stop s, const char *what)
{
	struct inject_thread *t = &w->thread;
	char buf[128];

	if (!w->told)
		FAIL(w, "%s: %s %s; %s", w->job->name, what, how(s, t, buf, sizeof buf),
		     s == STOP_GONE ? "start it again"
				    : "it runs on as before; start it with memtop run");
	w->r->rc = -1;
	for (; s == STOP_LATE; search_let_late_go(w))
		s = inject_thread_interrupt(t, now_ns() + STOP_NS);
	w->scratch = 0; /* something may still point to it */
	return -1;
}

/* Reports now, so that memtop's user need not wait for the rest. */
static void tell(struct inject_work *w, const char *what, uint64_t ns)
{
	if (w->told)
		return;
	w->told = w->r->lingers = true;
	w->r->rc = -1;
	FAIL(w,
	     "%s: %s takes more than %u s: the process hardly gets to run (a cpu quota, a frozen "
	     "container, a slow disk); the call continues: see memtop list later, or try again",
	     w->job->name, what, (unsigned)(ns / 1000000000u));
	w->said(w->arg, w->r);
}

/* Waits for the end of the thread's call. Late threads continue meanwhile: they may hold a lock
 * that the call waits for. -1: it cannot continue; told: the result came too late for the user. */
static int await(struct inject_work *w, const char *what, bool may_hang, uint64_t *result)
{
	struct inject_thread *t = &w->thread;
	uint64_t began = now_ns();
	struct procfs_pace pace = { 0 };
	enum inject_stop s;

	w->stuck = (struct inject_stuck){ .word = 0 };
	while ((s = inject_thread_await(t, now_ns() + TICK_NS, result)) == STOP_LATE) {
		search_let_late_go(w);
		if (may_hang && inject_is_stuck(&w->stuck, t->pid, t->tid))
			break;
		uint64_t ns = now_ns() - began;
		if (ns > CALL_NS && (ns > STARVED_NS || !procfs_lags(&pace, t->pid, t->tid)))
			tell(w, what, ns);
	}
	if (s != STOP_HERE)
		return call_failed(w, s, what);
	return w->told ? -1 : 0;
}

static int call(struct inject_work *w, const char *what, uint64_t fn, uint64_t a, uint64_t b,
		uint64_t *result)
{
	uint64_t top = (w->scratch + STACK_BYTES - 2 * TEXT_BYTES) & ~15ull;
	enum inject_stop s = inject_thread_call(&w->thread, &w->modules, fn, a, b, top);

	return s == STOP_HERE ? await(w, what, true, result) : call_failed(w, s, what);
}

static int system_call(struct inject_work *w, const char *what, long nr, const uint64_t args[6],
		       long *result)
{
	uint64_t value = 0;
	enum inject_stop s = inject_thread_syscall(&w->thread, w->ground.gadget, nr, args);
	int rc = s == STOP_HERE ? await(w, what, false, &value) : call_failed(w, s, what);

	*result = (long)value;
	return rc;
}

static int map_stack(struct inject_work *w)
{
	const uint64_t map[6] = { 0,
				  STACK_BYTES,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				  (uint64_t)-1,
				  0 };
	long at;

	if (system_call(w, "mmap", SYS_mmap, map, &at))
		return -1;
	if (at < 0 && at > -4096)
		return FAIL(w, "%s: no memory to call dlopen: %s; raise its limits", w->job->name,
			    strerror((int)-at));
	w->scratch = (uint64_t)at;
	const uint64_t guard[6] = { w->scratch, GUARD_BYTES, PROT_NONE };
	return system_call(w, "mprotect", SYS_mprotect, guard, &at);
}

static int put_text(struct inject_work *w, int n, const char *text, uint64_t *at)
{
	size_t len = strlen(text) + 1;

	*at = w->scratch + STACK_BYTES - (uint64_t)n * TEXT_BYTES;
	if (len > TEXT_BYTES)
		return FAIL(w, "%s: too long for the agent; shorten it", text);
	return inject_write(&w->modules, *at, text, len)
		       ? FAIL(w, "%s: has ended; start it again", w->job->name)
		       : 0;
}

/* Copies the agent's file to one without a name in the process; its descriptor there, or -1. */
static long hand_over(struct inject_work *w)
{
	char path[64], buf[65536];
	uint64_t name;
	long fd;

	if (put_text(w, 2, "libmemtop-agent.so", &name))
		return -1;
	const uint64_t args[6] = { name, 1 /* MFD_CLOEXEC */ };
	if (system_call(w, "memfd_create", SYS_memfd_create, args, &fd))
		return -1;
	if (fd < 0)
		return FAIL(w, "%s: cannot hold a copy of the agent: %s; start it with memtop run",
			    w->job->name, strerror((int)-fd));
	snprintf(path, sizeof path, "/proc/%d/fd/%ld", (int)w->thread.tid, fd);
	int from = open(w->job->path, O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = from < 0 || to < 0 ? -1 : 0;
	while (n >= 0 && (n = read(from, buf, sizeof buf)) > 0)
		n = write(to, buf, (size_t)n) == n ? n : -1;
	int why = errno;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (n < 0)
		FAIL(w, "%s: the agent %s could not be copied to it: %s; start it with memtop run",
		     w->job->name, w->job->path, strerror(why));
	return fd;
}

static void close_there(struct inject_work *w, long fd)
{
	const uint64_t args[6] = { (uint64_t)fd };
	long unused;

	if (fd >= 0 && w->thread.stopped && w->scratch)
		system_call(w, "close", SYS_close, args, &unused);
}

static int open_there(struct inject_work *w, const char *name)
{
	uint64_t path, handle, text;
	char why[400] = "";

	if (put_text(w, 2, name, &path) ||
	    call(w, "dlopen", w->ground.dlopen, path, (uint64_t)(unsigned)w->ground.dlopen_flags,
		 &handle))
		return -1;
	if (handle)
		return 0;
	if (w->ground.dlerror && call(w, "dlerror", w->ground.dlerror, 0, 0, &text) == 0)
		inject_read_text(&w->modules, text, why, sizeof why);
	return FAIL(
		w,
		"%s: its loader refuses the agent: %s; check --agent, or start it with memtop run",
		w->job->name, *why ? why : "no reason given");
}

/* The loader takes one name for one file, so that each copy has a name of its own: `loaded` agents
 * came before. */
static int load(struct inject_work *w, unsigned loaded)
{
	static const char again[] = "/./././././././././././././././.";
	int longer = loaded < sizeof again / 2 ? (int)loaded * 2 : (int)sizeof again - 1;
	char name[128];

	if (!w->job->copy)
		return open_there(w, w->job->path);
	long fd = hand_over(w);
	if (fd < 0 || *w->r->err.text) {
		close_there(w, fd);
		return -1;
	}
	snprintf(name, sizeof name, "%s/fd%.*s/%ld", w->job->proc, longer, again, fd);
	int rc = open_there(w, name);
	close_there(w, fd);
	return rc;
}

static struct inject_agents loaded_agents(struct inject_work *w)
{
	struct inject_modules now;
	struct inject_agents a = { 0 };

	if (inject_modules_read(w->job->pid, &now) == 0)
		a = inject_find_agents(&now, w->job->path);
	inject_modules_release(&now);
	return a;
}

static int attach_by(struct inject_work *w, uint64_t memtop_attach, const char *text)
{
	uint64_t options, code;

	if (put_text(w, 1, text, &options) ||
	    call(w, "memtop_attach", memtop_attach, options, 0, &code))
		return -1;
	w->r->code = (int)code;
	return 0;
}

/* Finds the agent of another build that has a session, if only one whose server was killed. It
 * answers before it looks at its options; one without a session refuses these. */
static int ask_others(struct inject_work *w, const struct inject_agents *a)
{
	for (unsigned i = 0; i < a->others && !w->r->older; i++) {
		if (attach_by(w, a->other[i].attach, NO_OPTION))
			return -1;
		if (w->r->code != MEMTOP_ATTACH_OPTIONS)
			w->r->older = a->other[i].start;
		else
			w->r->code = 0;
	}
	return 0;
}

/* Beside agents of other builds; where the loader takes no more, the last of them counts. */
static int load_new(struct inject_work *w, const struct inject_agents *before, uint64_t *use)
{
	unsigned others = before->others;
	int rc = load(w, others);
	struct inject_agents now = { 0 };

	if (rc == 0)
		now = loaded_agents(w);
	*use = now.same || others ? now.same : now.other[0].attach;
	if (!*use && others && w->scratch && !w->told) {
		*use = before->other[others - 1].attach;
		w->r->older = before->other[others - 1].start;
	}
	if (*use || rc)
		return *use ? 0 : -1;
	return FAIL(w,
		    "%s: not an agent that can be attached: it has no memtop_attach; give an agent "
		    "of this memtop's version",
		    w->job->path);
}

/* Another attach may be in the middle of loading this very agent, through another thread: until its
 * dlopen returns, nothing of the agent may be called. */
static bool is_being_loaded(struct inject_work *w)
{
	size_t count;
	struct inject_candidate *list = inject_candidates(w->job->pid, &count);

	for (size_t i = 0; i < count && !w->r->tracer; i++) {
		pid_t tracer = procfs_tracer(list[i].tid);
		if (tracer != getpid() && inject_is_attach(tracer))
			w->r->tracer = tracer;
	}
	free(list);
	return w->r->tracer != 0;
}

static int load_and_attach(struct inject_work *w)
{
	struct inject_agents before = inject_find_agents(&w->modules, w->job->path);
	uint64_t use = before.same;

	if (((use || before.others) && is_being_loaded(w)) || ask_others(w, &before))
		return -1;
	if (!w->r->older &&
	    ((!use && load_new(w, &before, &use)) || attach_by(w, use, w->job->options)))
		return -1;
	return w->r->code < 0 ? -1 : 0;
}

/* A fault makes the kernel forget that the process ignored SIGSEGV. */
static bool ignores_faults(pid_t tid)
{
	char path[64], line[256];
	unsigned long long ignored = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "SigIgn: %llx", &ignored) == 1)
			break;
	if (f)
		fclose(f);
	return ignored >> (SIGSEGV - 1) & 1;
}

static void ignore_faults_again(struct inject_work *w)
{
	const uint64_t action[4] = { (uint64_t)(uintptr_t)SIG_IGN },
		       at = w->scratch + STACK_BYTES - TEXT_BYTES;
	const uint64_t args[6] = { SIGSEGV, at, 0, 8 };
	long result;

	if (inject_write(&w->modules, at, action, sizeof action) == 0)
		system_call(w, "rt_sigaction", SYS_rt_sigaction, args, &result);
}

static int check_filters(struct inject_work *w)
{
	const char *killer = "";

	switch (inject_seccomp(w->thread.tid, &killer)) {
	case VERDICT_DEADLY:
		return FAIL(w,
			    "%s: its seccomp filter kills for %s, and loading the agent needs it; "
			    "start it with memtop run",
			    w->job->name, killer);
	case VERDICT_UNKNOWN:
		return FAIL(w,
			    "%s: its seccomp filter may kill it for loading the agent, and only "
			    "root can read the filter; run memtop as root: sudo memtop attach %d",
			    w->job->name, (int)w->job->pid);
	default: return 0;
	}
}

/* Loads the agent with a borrowed thread at a safe point. */
static void use_thread(struct inject_work *w)
{
	struct inject_thread *t = &w->thread;
	bool ignored = ignores_faults(t->tid);
	uint64_t began = now_ns();
	long unused;

	w->r->rc = -1;
	if (w->job->filtered && check_filters(w)) {
		;
	} else if (inject_thread_borrow(t)) {
		FAIL(w, "%s: its registers cannot be saved: %s; start it with memtop run",
		     w->job->name, strerror(errno));
	} else if (map_stack(w) == 0 &&
		   call(w, "__errno_location", w->ground.errno_location, 0, 0, &w->errno_at) == 0 &&
		   inject_read(&w->modules, w->errno_at, &w->errno_value, sizeof w->errno_value) ==
			   0) {
		w->r->rc = load_and_attach(w);
		inject_write(&w->modules, w->errno_at, &w->errno_value, sizeof w->errno_value);
	}
	if (w->scratch && t->stopped) {
		const uint64_t args[6] = { w->scratch, STACK_BYTES };

		if (ignored)
			ignore_faults_again(w);
		system_call(w, "munmap", SYS_munmap, args, &unused);
	}
	if (t->stopped) {
		search_wait_again(w, t);
		inject_thread_give_back(t);
	}
	w->r->stopped_ns = now_ns() - w->r->stopped_ns;
	w->r->called_ns = now_ns() - began;
	search_release(w, t);
}

void inject_agent(const struct inject_job *job, struct inject_result *r,
		  void (*said)(void *arg, const struct inject_result *r), void *arg)
{
	struct inject_work *w = xcalloc(1, sizeof *w);

	*w = (struct inject_work){ .job = job, .r = r, .said = said, .arg = arg };
	*r = (struct inject_result){ .rc = -1 };
	if (inject_modules_read(job->pid, &w->modules))
		FAIL(w, "%s: its memory cannot be read: %s; run memtop as its user or as root",
		     job->name, strerror(errno));
	else if (inject_ground(&w->ground, &w->modules))
		FAIL(w, "%s: its C library has no dlopen; start it with memtop run", job->name);
	else if (search_safe_point(w) == 0)
		use_thread(w);
	search_wait_for_late(w);
	inject_modules_release(&w->modules);
	free(w);
}
