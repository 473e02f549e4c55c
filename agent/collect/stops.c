/* SPDX-License-Identifier: MIT
 *
 * stops.c - when the target could not run. Nothing grows then, and that says nothing about growth:
 * samples are placed, and viewers judge, by the time that is left, the running time.
 *
 * Each tick divides the time since the last one. So a stop begins and ends between two ticks, and
 * the running time at a tick that viewers have never changes.
 *
 *   signal, tracer   /proc/PID/stat says T or t at both ticks, and the target's processor time
 *                    stood still between them: one thread that a debugger stops, or strace's
 *                    stops at each system call, are none. All of the time counts as stopped.
 *   frozen           by a cgroup (docker pause): the server is frozen with its target, and learns
 *                    of it from its own clock: the time since the last tick, less the planned
 *                    pause, the time that the server ran, and the time that it waited for a
 *                    processor (/proc/PID/schedstat). A late server on a busy machine is no stop.
 *                    The target must have run a little, too, as each thread does on its way into
 *                    the freezer, and hardly more than in the tick before.
 *   the machine      CLOCK_MONOTONIC leaves a sleep out, and so does the session's clock. That it
 *                    slept is told as a sum (CLOCK_BOOTTIME).
 *
 * A full list joins the two stops with the shortest run between them. The sum of all stops stays.
 */
#include "collect/stops.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "collect/memory.h"
#include "collect/proc.h"
#include "collect/server.h"

#include <sys/syscall.h>

#define CLOCK_OF_SLEEP 7L           /* CLOCK_BOOTTIME */
#define FROZEN_LEAST_NS SECOND      /* less is a late wake-up */
#define SLEPT_LEAST_NS SECOND       /* the two clocks are not read at one instant */
#define INTO_FREEZER_NS (MILLI / 5) /* of a thread, on its way in and out */

static void join_nearest(struct stops *t)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i + 1 < t->count; i++)
		if (t->list[i + 1].begin_ns - t->list[i].end_ns <
		    t->list[at + 1].begin_ns - t->list[at].end_ns)
			at = i;
	struct stop *to = &t->list[at], *from = to + 1;
	struct stop both = to->stopped_ns < from->stopped_ns ? *from : *to;
	both.begin_ns = to->begin_ns;
	both.end_ns = from->end_ns;
	both.stopped_ns = to->stopped_ns + from->stopped_ns;
	both.times = to->times + from->times;
	*to = both;
	t->count--;
	memmove(from, from + 1, (t->count - at - 1) * sizeof(*from));
}

static struct stop *add(struct stops *t, unsigned why, uint64_t begin_ns)
{
	if (t->count == MTW_STOPS_MAX)
		join_nearest(t);
	struct stop *p = &t->list[t->count++];
	*p = (struct stop){ .begin_ns = begin_ns, .times = 1, .why = why };
	t->changed++;
	return p;
}

static struct stop *open_one(struct stops *t)
{
	struct stop *p = t->count ? &t->list[t->count - 1] : NULL;

	return p && !p->end_ns ? p : NULL;
}

static void close_at(struct stops *t, struct stop *p, uint64_t ns)
{
	p->end_ns = ns;
	p->stopped_ns = ns - p->begin_ns;
	t->changed++;
}

/* It was stopped since the last look, and still is. */
static void go_on(struct stops *t, const struct stop_look *now)
{
	struct stop *p = open_one(t);

	if (p && (p->why != now->why || p->pid != now->pid)) {
		close_at(t, p, t->last.ns);
		p = NULL;
	}
	if (!p) {
		p = add(t, now->why, t->last.ns);
		p->pid = now->pid;
		memcpy(p->name, now->name, sizeof(p->name));
	}
	t->total_ns += now->ns - t->last.ns;
}

/* How long the server was frozen since the last look. */
static uint64_t frozen(const struct stops *t, const struct stop_look *now)
{
	const struct stop_look *was = &t->last;
	uint64_t passed = now->ns - was->ns, ran = now->cpu_ns - was->cpu_ns;

	if (!now->own_ns || !was->own_ns || now->own_ns < was->own_ns || now->cpu_ns < was->cpu_ns)
		return 0;
	uint64_t known = t->pause_ns + (now->own_ns - was->own_ns);
	double usual = t->ran_in_ns
			       ? 2 * (double)t->pause_ns * (double)t->ran_ns / (double)t->ran_in_ns
			       : 0;
	if (passed < known + FROZEN_LEAST_NS || !ran ||
	    (double)ran > usual + (double)(now->threads * INTO_FREEZER_NS))
		return 0;
	return passed - known;
}

void stops_take(struct stops *t, const struct stop_look *now)
{
	const struct stop_look *was = &t->last;
	struct stop *open = open_one(t);
	uint64_t gap;

	if (!was->ns || now->ns <= was->ns)
		goto out;
	if (now->ahead_ns >= was->ahead_ns + SLEPT_LEAST_NS) {
		t->slept_ns += now->ahead_ns - was->ahead_ns;
		t->slept_at_ns = now->ns;
		t->changed++;
	}
	if (now->why && was->why && now->cpu_ns == was->cpu_ns) {
		go_on(t, now);
		goto out;
	}
	if (open)
		close_at(t, open, was->ns);
	gap = frozen(t, now);
	if (gap) {
		close_at(t, add(t, t->unseen, now->ns - gap), now->ns);
		t->total_ns += gap;
	}
	t->ran_ns = now->cpu_ns > was->cpu_ns ? now->cpu_ns - was->cpu_ns : 0;
	t->ran_in_ns = now->ns - was->ns;
out:
	t->last = *now;
}

uint64_t stops_running(const struct stops *t, uint64_t now_ns)
{
	return now_ns - t->total_ns;
}

static uint64_t sleep_clock(void)
{
	long awake[2] = { 0, 0 }, all[2] = { 0, 0 };

	mt_prim_call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)awake, 0, 0, 0, 0);
	if (mt_prim_call(SYS_clock_gettime, CLOCK_OF_SLEEP, (long)all, 0, 0, 0, 0) != 0)
		return 0;
	int64_t ahead = (int64_t)(all[0] - awake[0]) * (int64_t)SECOND + (all[1] - awake[1]);
	return ahead > 0 ? (uint64_t)ahead : 0;
}

/* Time on a processor and time in its queue, of the server's thread. */
static uint64_t own_time(const struct server *s)
{
	char file[40] = "schedstat", text[96];

	if (s->thread_mode)
		mt_format(file, sizeof(file), "task/%d/schedstat", mt_prim_gettid());
	if (proc_read(PROC_SELF, file, text, sizeof(text)) <= 0)
		return 0;
	const char *second = strchr(text, ' ');
	return proc_digits(text) + (second ? proc_digits(second + 1) : 0);
}

/* The first thread may have ended; the others say then whether the program is stopped. */
static char state_of(const struct server *s)
{
	char file[40], text[1024], state = s->figures.state;

	for (uint32_t i = 0; state == 'Z' && i < s->sums.thread_limit; i++) {
		const struct thread_row *row = &s->sums.thread[i];
		if (!row->changed || row->info.ended || row->info.tid == s->target.pid)
			continue;
		mt_format(file, sizeof(file), "task/%d/stat", row->info.tid);
		if (proc_read(s->target.number, file, text, sizeof(text)) > 0)
			return proc_state(text);
	}
	return state;
}

/* The kernel says 0 for a tracer in another pid namespace, and another's number is none of ours. */
static void find_tracer(struct server *s, struct stop_look *now)
{
	char text[2048], name[STOP_NAME + 1];

	now->why = MTW_STOP_TRACED;
	if (proc_read(s->target.number, "status", text, sizeof(text)) > 0)
		now->pid = (unsigned)proc_status_number(text, "TracerPid");
	if (!now->pid || proc_read((int)now->pid, "comm", name, sizeof(name)) <= 0)
		return;
	for (size_t i = 0; i + 1 < STOP_NAME && name[i] && name[i] != '\n'; i++)
		now->name[i] = name[i];
}

void stops_look(struct server *s)
{
	struct stop_look now = {
		.ns = s->sums.pass_ns,
		.cpu_ns = s->figures.target_cpu_ns,
		.own_ns = own_time(s),
		.ahead_ns = sleep_clock(),
		.threads = s->figures.thread_count,
	};
	char state = state_of(s);

	/* a server that is a thread of the target stops with it for any reason */
	s->stops.unseen = s->thread_mode ? MTW_STOP_UNSEEN : MTW_STOP_FROZEN;
	if (state == 'T')
		now.why = MTW_STOP_SIGNAL;
	else if (state == 't')
		find_tracer(s, &now);
	stops_take(&s->stops, &now);
}

void stops_put(const struct stops *t, struct mtw_out *o)
{
	mtw_put(o, t->slept_ns);
	mtw_put(o, t->slept_at_ns);
	mtw_put(o, t->count);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct stop *p = &t->list[i];
		mtw_put(o, p->begin_ns);
		mtw_put(o, p->end_ns);
		mtw_put(o, p->stopped_ns);
		mtw_put(o, p->times);
		mtw_put(o, p->why);
		mtw_put(o, p->pid);
		mtw_put_string(o, p->name);
	}
}
