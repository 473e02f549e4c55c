/* SPDX-License-Identifier: MIT
 *
 * stop.c - stops a thread of a Java machine between two instructions of Java code.
 *
 * Methods can be invoked only on a thread that an event has stopped. The event is one of these:
 *   a breakpoint at the start of a method that the user named: any caller hits it;
 *   else, except on Android, a single step of the smallest size on each thread. A running thread
 *     stops at once, a sleeping or waiting one when it returns. So no method need be known, and an
 *     idle server stops at its next request. OpenJDK's own cleaner thread comes by once a minute;
 *   on Android, breakpoints in methods that the main thread calls for every touch and frame, and
 *     when the app comes to the front.
 *
 * An event stops only its own thread (EVENT_THREAD), once (Count 1). Other threads that hit it
 * before the requests are withdrawn are resumed at once. Reference Handler is left alone: every
 * garbage collection waits for it.
 *
 * A machine started with suspend=y stays suspended until a debugger comes; it is resumed once the
 * requests are made.
 */
#include "attach/jdwp/machine.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE_MS 300 /* nothing is said before */
#define THREADS_MAX 4096
#define LOCATIONS_MAX 64 /* overloads; class loaders that have the class */

enum { STEP = 1, BREAKPOINT = 2, VM_START = 90, VM_DEATH = 99 }; /* kinds of events */
enum { SUSPEND_THREAD = 1, SUSPEND_ALL = 2 };
enum { MOD_COUNT = 1, MOD_LOCATION = 7, MOD_STEP = 10 }; /* modifiers of a request */
enum { STEP_MIN = 0, STEP_INTO = 0 };

static const char *const android_breaks[] = { "android.os.Handler.dispatchMessage",
					      "android.app.Activity.onResume", NULL };

static void take_thread(struct jdwp_machine *m, uint64_t thread)
{
	if (!m->stopped) {
		m->stopped = m->woken = true;
		m->thread = thread;
		m->stopped_ns = now_ns();
	} else if (m->other_count < sizeof m->others / sizeof *m->others) {
		m->others[m->other_count++] = thread;
	}
}

/* Event kinds that memtop did not request have an unknown size: the rest of their packet is
 * skipped. */
void jdwp_on_event(void *arg, struct jdwp_in *in)
{
	struct jdwp_machine *m = arg;
	unsigned policy = (unsigned)jdwp_get(in, 1);
	uint64_t thread = 0;
	bool ours = false;

	for (uint64_t left = jdwp_get(in, 4); left && !in->bad; left--) {
		unsigned kind = (unsigned)jdwp_get(in, 1);
		jdwp_get(in, 4); /* not looked at: it may come before the reply that says it */
		if (kind == VM_DEATH) {
			jdwp_break(&m->link, JDWP_CLOSED, "the program has ended; start it again");
			return;
		}
		if (kind != STEP && kind != BREAKPOINT)
			break;
		thread = jdwp_get(in, m->link.object_bytes);
		jdwp_get(in, 1);
		jdwp_get(in, m->link.type_bytes);
		jdwp_get(in, m->link.method_bytes);
		jdwp_get(in, 8);
		ours = !in->bad;
	}
	if (policy == SUSPEND_ALL)
		m->suspended = m->woken = true;
	else if (policy == SUSPEND_THREAD && ours)
		take_thread(m, thread);
}

/* The reply's error code, or -1. */
static int wish(struct jdwp_machine *m, uint8_t kind, const struct jdwp_out *out)
{
	struct jdwp_in in;
	int rc = jdwp_call(&m->link, JDWP_EVENT_SET, out, &in);

	if (rc)
		return rc;
	GROW(m->wishes, m->wish_room, m->wish_count + 1);
	m->wishes[m->wish_count++] =
		(struct jdwp_wish){ .kind = kind, .id = (uint32_t)jdwp_get(&in, 4) };
	return 0;
}

static void begin_wish(struct jdwp_out *out, uint8_t kind)
{
	out->len = 0;
	out->bad = false;
	jdwp_put(out, kind, 1);
	jdwp_put(out, SUSPEND_THREAD, 1);
	jdwp_put(out, 2, 4);
	jdwp_put(out, MOD_COUNT, 1);
	jdwp_put(out, 1, 4);
}

static int break_at(struct jdwp_machine *m, uint64_t type, uint64_t method)
{
	struct jdwp_out out;

	begin_wish(&out, BREAKPOINT);
	jdwp_put(&out, MOD_LOCATION, 1);
	jdwp_put(&out, 1, 1); /* a class; an interface's default method is found by it, too */
	jdwp_put_type(&m->link, &out, type);
	jdwp_put_method(&m->link, &out, method);
	jdwp_put(&out, 0, 8);
	return wish(m, BREAKPOINT, &out);
}

static int step(struct jdwp_machine *m, uint64_t thread)
{
	struct jdwp_out out;

	begin_wish(&out, STEP);
	jdwp_put(&out, MOD_STEP, 1);
	jdwp_put_object(&m->link, &out, thread);
	jdwp_put(&out, STEP_MIN, 4);
	jdwp_put(&out, STEP_INTO, 4);
	return wish(m, STEP, &out);
}

static bool is_left_alone(struct jdwp_machine *m, uint64_t thread)
{
	static const char name[] = "Reference Handler";
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	size_t len;

	jdwp_put_object(&m->link, &out, thread);
	if (jdwp_call(&m->link, JDWP_THREAD_NAME, &out, &in))
		return true; /* it has ended */
	const char *is = jdwp_get_text(&in, &len);
	return len == sizeof name - 1 && !memcmp(is, name, len);
}

static int step_all(struct jdwp_machine *m)
{
	struct jdwp_in in;
	int rc = jdwp_call(&m->link, JDWP_VM_ALL_THREADS, NULL, &in);

	if (rc)
		return jdwp_fail_code(m, rc, "list its threads");
	size_t count = (size_t)jdwp_get(&in, 4);
	count = count < THREADS_MAX ? count : THREADS_MAX;
	uint64_t *threads = xcalloc(count, sizeof *threads);
	for (size_t i = 0; i < count; i++)
		threads[i] = jdwp_get(&in, m->link.object_bytes);
	for (size_t i = 0; i < count && !m->stopped && !in.bad; i++)
		if (!is_left_alone(m, threads[i]))
			/* one that has just ended cannot be stepped: no matter */
			step(m, threads[i]);
	free(threads);
	if (m->link.broken)
		return -1;
	if (!m->wish_count && !m->stopped)
		return jdwp_fail(m, JDWP_TIMEOUT,
				 "none of its threads can be stepped; name a method that it calls "
				 "with --break CLASS.METHOD");
	debug_log("jdwp", 1, "%zu of %zu threads are stepped", m->wish_count, count);
	return 0;
}

/* "pkg.Class.method" in two: the class as a signature. */
static bool split(const char *name, char *signature, size_t size, const char **method)
{
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name || !dot[1] || (size_t)(dot - name) + 3 > size)
		return false;
	snprintf(signature, size, "L%.*s;", (int)(dot - name), name);
	for (char *c = signature; *c; c++)
		*c = *c == '.' ? '/' : *c;
	*method = dot + 1;
	return true;
}

static int break_in_type(struct jdwp_machine *m, uint64_t type, const char *method, unsigned *bits)
{
	struct jdwp_method methods[LOCATIONS_MAX];
	int n = jdwp_methods(m, type, method, NULL, methods, LOCATIONS_MAX), rc = 0;

	for (int i = 0; i < n && rc >= 0; i++) {
		*bits |= methods[i].bits & (JDWP_METHOD_NATIVE | JDWP_METHOD_ABSTRACT);
		if (methods[i].bits & (JDWP_METHOD_NATIVE | JDWP_METHOD_ABSTRACT))
			continue;
		rc = break_at(m, type, methods[i].id);
		if (rc == JDWP_E_INVALID_LOCATION)
			*bits |= JDWP_METHOD_NATIVE;
		else if (rc > 0)
			return jdwp_fail_code(m, rc, "set a breakpoint");
	}
	return n < 0 || rc < 0 ? -1 : 0;
}

/* 0 when a breakpoint is set. */
static int break_by_name(struct jdwp_machine *m, const char *name)
{
	char signature[1024];
	uint64_t types[LOCATIONS_MAX];
	const char *method;
	size_t before = m->wish_count;
	unsigned bits = 0;

	if (!split(name, signature, sizeof signature, &method))
		return jdwp_fail(m, JDWP_NO_METHOD,
				 "\"%.100s\" names no method; write --break pkg.Class.method",
				 name);
	int n = jdwp_types(m, signature, types, LOCATIONS_MAX);
	for (int i = 0; i < n; i++)
		if (break_in_type(m, types[i], method, &bits))
			return -1;
	if (n < 0)
		return -1;
	if (m->wish_count > before) {
		m->unseen = m->unseen || bits & JDWP_METHOD_NATIVE;
		return 0;
	}
	if (n == 0)
		return jdwp_fail(m, JDWP_NO_CLASS,
				 "no class %.*s is loaded: a wrong name, or not used so far; give "
				 "its full name, an inner class as pkg.Outer$Inner",
				 (int)(method - 1 - name), name);
	if (bits & JDWP_METHOD_NATIVE)
		return jdwp_fail(m, JDWP_NATIVE,
				 "%s is native and takes no breakpoint; name a method in Java code",
				 name);
	if (bits & JDWP_METHOD_ABSTRACT)
		return jdwp_fail(
			m, JDWP_NO_METHOD,
			"%s is abstract and takes no breakpoint; name the class that implements it",
			name);
	return jdwp_fail(m, JDWP_NO_METHOD,
			 "%.*s has no method %s of its own; name the class that declares it",
			 (int)(method - 1 - name), name, method);
}

/* Sets all possible breakpoints; if none is possible, the first failure stands. */
static int break_all(struct jdwp_machine *m, const char *const *breaks)
{
	for (size_t i = 0; breaks[i] && !m->link.broken && !m->stopped; i++)
		break_by_name(m, breaks[i]);
	if (m->link.broken || (!m->wish_count && !m->stopped))
		return -1;
	jdwp_forgive(m);
	return 0;
}

static void say_what(const char *const *breaks, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, "%s",
				      breaks ? "a call" : "a thread that runs Java code");

	for (size_t i = 0; breaks && breaks[i] && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, " %s %s", i ? "or" : "of",
					breaks[i]);
}

/* 0: a thread is stopped; 1: the deadline; -1. */
static int listen_for(struct jdwp_machine *m, int ms)
{
	uint64_t end = now_ns() + (uint64_t)(ms > 0 ? ms : 0) * 1000000;

	for (;;) {
		m->link.deadline_ns = end;
		int rc = jdwp_listen(&m->link, &m->woken);
		if (rc || m->stopped)
			return rc;
		m->woken = m->suspended = false;
		jdwp_hurry(m, JDWP_WORK_MS);
		rc = jdwp_call(&m->link, JDWP_VM_RESUME, NULL, NULL);
		if (rc)
			return jdwp_fail_code(m, rc, "go on");
	}
}

static int listen_out(struct jdwp_machine *m, const char *const *breaks)
{
	const struct jdwp_request *q = m->request;
	char what[512];
	int rc = listen_for(m, q->timeout_ms < AT_ONCE_MS ? q->timeout_ms : AT_ONCE_MS);

	say_what(breaks, what, sizeof what);
	if (rc == 1 && q->timeout_ms > AT_ONCE_MS) {
		if (q->waiting)
			q->waiting(q->arg, what);
		rc = listen_for(m, q->timeout_ms - AT_ONCE_MS);
	}
	if (rc != 1)
		return rc;
	return jdwp_fail(
		m, JDWP_TIMEOUT, "waited %g s for %s, but none came%s; %s", q->timeout_ms / 1e3,
		what, m->unseen ? " (its native overload cannot be seen)" : "",
		m->android ? "bring the app to the front and try again"
		: breaks
			? "make the program call it, or name another method with --break "
			  "CLASS.METHOD"
			: "give it something to do (a request to a server), or a longer --timeout");
}

/* Resumes all but the stopped thread. Requests that had their event are already gone. */
static void take_back(struct jdwp_machine *m)
{
	struct jdwp_out out;

	while (m->wish_count && !m->link.broken) {
		const struct jdwp_wish *w = &m->wishes[--m->wish_count];

		out = (struct jdwp_out){ .len = 0 };
		jdwp_put(&out, w->kind, 1);
		jdwp_put(&out, w->id, 4);
		jdwp_call(&m->link, JDWP_EVENT_CLEAR, &out, NULL);
	}
	while (m->other_count && !m->link.broken) {
		out = (struct jdwp_out){ .len = 0 };
		jdwp_put_object(&m->link, &out, m->others[--m->other_count]);
		jdwp_call(&m->link, JDWP_THREAD_RESUME, &out, NULL);
	}
}

int jdwp_stop(struct jdwp_machine *m)
{
	const char *const *breaks = m->request->breaks;

	if (!breaks && m->android)
		breaks = android_breaks;
	if (breaks ? break_all(m, breaks) : step_all(m))
		return -1;
	int rc = listen_out(m, breaks);
	if (rc)
		return -1;
	jdwp_hurry(m, JDWP_WORK_MS);
	take_back(m);
	return m->link.broken ? -1 : 0;
}

void jdwp_go_on(struct jdwp_machine *m)
{
	struct jdwp_out out = { .len = 0 };

	take_back(m);
	if (!m->stopped || m->link.broken)
		return;
	jdwp_put_object(&m->link, &out, m->thread);
	jdwp_call(&m->link, JDWP_THREAD_RESUME, &out, NULL);
	m->stopped = false;
	if (m->request->held_ns)
		*m->request->held_ns = now_ns() - m->stopped_ns;
}
