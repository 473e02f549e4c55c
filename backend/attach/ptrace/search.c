/* SPDX-License-Identifier: MIT
 *
 * search.c - finds a thread of the process and stops it at a safe point
 * (attach/ptrace/safe_point.h).
 */
#include "attach/ptrace/stopped_process.h"
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEARCH_NS 2000000000ull /* for a safe point */
#define LOOKS_LEAST 200         /* before these it may take as long as a call */
#define LAG_NS 1000000000u
#define LOOKS 64            /* at one thread in turn: some 10 ms */
#define RUN_NS 20000u       /* it runs for so long between two looks, */
#define RUN_MORE_NS 200000u /* and for a random part of this more */
#define NAP_NS 5000000      /* where no thread stops */
#define REFUSALS 3

void search_wait_again(struct inject_work *w, struct inject_thread *t)
{
	uint8_t code[INJECT_CODE_BYTES] = { 0 };
	bool eintr;

	inject_read(&w->modules, inject_regs_pc(&t->saved) - INJECT_CODE_BYTES / 2, code,
		    sizeof code);
	long nr = inject_regs_syscall(&t->saved, code, &eintr);
	if (nr >= 0 && eintr && inject_waits(nr) && inject_regs_again(&t->saved))
		t->changed = true;
}

/* Releases a thread that was only inspected. */
static void leave(struct inject_work *w, struct inject_thread *t)
{
	if (t->stopped && inject_thread_read(t) == 0) {
		t->saved = t->regs;
		search_wait_again(w, t);
		inject_thread_give_back(t);
	}
	search_release(w, t);
}

/* One that was killed meanwhile is its tracer's until it has been waited for: it is late. */
void search_release(struct inject_work *w, struct inject_thread *t)
{
	if (!inject_thread_release(t) && w->late_count < sizeof w->late / sizeof *w->late)
		w->late[w->late_count++] = t->tid;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
}

/* Random, so that a thread with a fixed cycle is not always stopped at the same place. */
static uint64_t run_ns(struct inject_work *w)
{
	w->random = w->random * 1103515245u + 12345u;
	return RUN_NS + (w->random >> 8) % RUN_MORE_NS;
}

static struct inject_thread *begin_thread(struct inject_work *w, struct inject_thread *t, pid_t tid)
{
	memset(t, 0, offsetof(struct inject_thread, regs));
	t->pid = w->job->pid;
	t->tid = tid;
	return t;
}

/* Checks a late thread. After an exec it is the process' first thread, under that number. */
static enum inject_stop look_at(struct inject_work *w, struct inject_thread *t, pid_t tid)
{
	enum inject_stop s = inject_thread_look(begin_thread(w, t, tid));

	if (s == STOP_GONE && tid != w->job->pid &&
	    (t == &w->thread || w->thread.tid != w->job->pid) &&
	    inject_thread_look(begin_thread(w, t, w->job->pid)) == STOP_HERE)
		leave(w, t);
	return s;
}

/* Releases late threads that have stopped. */
void search_let_late_go(struct inject_work *w)
{
	for (size_t i = w->late_count; i-- > 0;) {
		enum inject_stop s = look_at(w, &w->other, w->late[i]);
		if (s != STOP_LATE)
			w->late[i] = w->late[--w->late_count];
		if (s == STOP_HERE)
			leave(w, &w->other);
	}
}

/* An exec replaces the process' memory, and the open mem file still shows the old one. After its
 * stop a tracer learns of an exec. */
static bool is_what_was_read(const struct inject_work *w)
{
	uint8_t code[4];

	return inject_read(&w->modules, w->ground.gadget, code, sizeof code) == 0 &&
	       inject_find_gadget(code, sizeof code) == 0;
}

/* May this thread be borrowed, now or a moment later? s tells how its stop went. If not,
 * releases it now or later. */
static bool try_stopped(struct inject_work *w, enum inject_stop s, uint64_t until_ns)
{
	struct inject_thread *t = &w->thread;
	enum inject_where where = WHERE_WAITS;
	uint64_t since = now_ns();

	for (int n = 0; s == STOP_HERE && !t->group && inject_thread_read(t) == 0; n++) {
		w->r->looks++;
		where = inject_judge(&w->ground, t);
		if (where != WHERE_INSIDE || n == LOOKS || since > until_ns)
			break;
		s = inject_thread_run_on(t, run_ns(w), since + STOP_NS);
		since = now_ns();
	}
	w->stopped |= s == STOP_HERE;
	w->group |= s == STOP_HERE && t->group;
	w->other_program |= s == STOP_HERE && !is_what_was_read(w);
	if (s == STOP_HERE && !w->other_program && (where == WHERE_SAFE || where == WHERE_IDLE)) {
		w->r->idle = where == WHERE_IDLE;
		w->r->tid = t->tid;
		w->r->stopped_ns = since;
		return true;
	}
	if (s == STOP_LATE)
		w->late[w->late_count++] = t->tid;
	else
		leave(w, t);
	return false;
}

/* Tries the late threads that have stopped by now. */
static bool try_late(struct inject_work *w, uint64_t until_ns)
{
	for (size_t i = 0, left = w->late_count; left; left--) {
		enum inject_stop s = look_at(w, &w->thread, w->late[i]);
		if (s == STOP_LATE) {
			i++;
			continue;
		}
		w->late[i] = w->late[--w->late_count];
		if (try_stopped(w, s, until_ns))
			return true;
	}
	return false;
}

static bool is_late(const struct inject_work *w, pid_t tid)
{
	for (size_t i = 0; i < w->late_count; i++)
		if (w->late[i] == tid)
			return true;
	return false;
}

/* The kernel refuses the threads that end, those that somebody traces, and those that memtop may
 * not trace, all with EPERM. */
static enum inject_stop stop_thread(struct inject_work *w, pid_t tid)
{
	struct proc_stat stat;

	for (int tries = 0;; tries++) {
		enum inject_stop s =
			inject_thread_stop(begin_thread(w, &w->thread, tid), now_ns() + STOP_NS);
		if (s != STOP_REFUSED)
			return s;
		pid_t tracer = procfs_tracer(tid);
		if (tracer)
			w->r->tracer = tracer;
		else if (!procfs_stat(tid, &stat) || !stat.has_memory)
			return STOP_GONE;
		else if (tries < REFUSALS) /* its tracer has let it go just now */
			continue;
		w->refused = true;
		return s;
	}
}

/* Stops one thread; true when it is where it may be borrowed. */
static bool try_thread(struct inject_work *w, pid_t tid, uint64_t until_ns)
{
	if (try_late(w, until_ns))
		return true;
	if (w->late_count == sizeof w->late / sizeof *w->late || is_late(w, tid))
		return false;
	w->r->threads++;
	return try_stopped(w, stop_thread(w, tid), until_ns);
}

bool inject_names_attach(const char *name)
{
	return !strncmp(name, "memtop", 6);
}

bool inject_is_attach(pid_t tracer)
{
	char name[32];

	return procfs_name(tracer, name, sizeof name) && inject_names_attach(name);
}

static int no_safe_point(struct inject_work *w, size_t count, uint64_t ns)
{
	const char *name = w->job->name;

	if (!count || procfs_ended(w->job->pid))
		return FAIL(w, "%s: has ended; start it again", name);
	if (w->other_program)
		return FAIL(w, "%s: executed another program just now; try again", name);
	if (w->group)
		return FAIL(w,
			    "%s: was stopped just now (SIGSTOP or job control); continue it and "
			    "try again: kill -CONT %d",
			    name, (int)w->job->pid);
	if (w->r->tracer && (!w->stopped || inject_is_attach(w->r->tracer)))
		return -1;
	w->r->tracer = 0;
	if (w->refused && !w->stopped)
		return FAIL(w,
			    "%s: the kernel forbids tracing it: %s (a security module, or a "
			    "container's rules); run memtop as root outside the container, or "
			    "start it with memtop run",
			    name, strerror(EPERM));
	if (w->r->looks < LOOKS_LEAST)
		return FAIL(
			w,
			"%s: found no safe point within %u s: its %zu threads hardly get to run (a "
			"cpu quota, a frozen container, a slow disk); try again when they do",
			name, (unsigned)(ns / 1000000000u), count);
	return FAIL(w,
		    "%s: found no safe point within 2 s: each of its %zu threads is inside the "
		    "allocator or waits for a lock; try again, or start it with memtop run",
		    name, count);
}

/* Another attach comes first. */
static bool must_end(const struct inject_work *w)
{
	return w->group || w->other_program || (w->r->tracer && inject_is_attach(w->r->tracer));
}

/* 0 with a thread stopped at a safe point. */
int search_safe_point(struct inject_work *w)
{
	uint64_t began = now_ns(), until = began + CALL_NS;
	struct procfs_pace pace = { 0 };
	size_t count = 0;

	do {
		struct inject_candidate *list = inject_candidates(w->job->pid, &count);
		unsigned looks = w->r->looks;
		bool found = false;

		for (size_t i = 0; i < count && !found && !must_end(w) && now_ns() < until; i++) {
			found = try_thread(w, list[i].tid, until);
			if (w->r->looks >= LOOKS_LEAST)
				until = began + SEARCH_NS;
		}
		free(list);
		if (found) {
			w->r->tracer = 0; /* of another thread */
			return 0;
		}
		if (!count || must_end(w) || procfs_ended(w->job->pid) ||
		    (w->refused && !w->stopped && !w->late_count))
			break;
		if (looks == w->r->looks)
			nap();
		uint64_t now = now_ns();
		if (now >= until && now < began + STARVED_NS && w->r->looks < LOOKS_LEAST &&
		    procfs_lags(&pace, w->job->pid, w->thread.tid))
			until = now + LAG_NS;
	} while (now_ns() < until);
	return no_safe_point(w, count, now_ns() - began);
}

/* Threads that did not stop in time are let go when they have. */
void search_wait_for_late(struct inject_work *w)
{
	search_let_late_go(w);
	if (!w->late_count)
		return;
	w->r->lingers = true;
	w->said(w->arg, w->r);
	for (; w->late_count; search_let_late_go(w))
		nap();
}
