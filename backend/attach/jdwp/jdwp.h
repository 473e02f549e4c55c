/* SPDX-License-Identifier: MIT
 *
 * jdwp.h - loads a library into a running Java machine by the Java Debug Wire Protocol (Java
 * Platform SE, "JDWP Specification"; OpenJDK and ART speak it). Main thread only. Calls block,
 * since the verbs that attach have no loop yet, but never longer than the request allows.
 */
#ifndef ATTACH_JDWP_JDWP_H
#define ATTACH_JDWP_JDWP_H

#include <stddef.h>
#include <stdint.h>

struct jdwp_request {
	int fd; /* connected to the machine's debug port; the caller's, closed by the caller */
	const char *library; /* absolute path as the machine sees it; NULL: choose() names it */
	/*
	 * Where a thread is stopped for the time of the load: "pkg.Class.method", inner classes as
	 * pkg.Outer$Inner, ends with NULL. All that exist are set, the first to be called is taken.
	 * NULL: Handler.dispatchMessage and Activity.onResume on Android; else the first thread
	 * that runs Java code, whatever code.
	 */
	const char *const *breaks;
	/* how long a thread is waited for; what comes before and after has JDWP_WORK_MS each */
	int timeout_ms;
	/* Optional. Called once when nothing was stopped at once; what: "a call of
	 * pkg.Class.method", "a thread that runs Java code". */
	void (*waiting)(void *arg, const char *what);
	/*
	 * Optional. The thread is stopped; pid: the machine's own number for itself, 0 when it
	 * cannot tell. The library to load, or NULL and a line in `why`: nothing is loaded,
	 * JDWP_LEFT.
	 */
	const char *(*choose)(void *arg, int64_t pid, char *why, size_t n);
	void *arg;
	uint64_t *held_ns; /* optional, out: for how long the thread was stopped */
};

#define JDWP_WORK_MS 15000

enum jdwp_result {
	JDWP_LOADED,
	JDWP_CLOSED,    /* the connection ended */
	JDWP_NOT_JDWP,  /* the peer does not speak the protocol, or breaks it */
	JDWP_SILENT,    /* it takes the connection and does not answer: it has a debugger already */
	JDWP_TIMEOUT,   /* no thread came by */
	JDWP_NO_CLASS,  /* no such class is loaded */
	JDWP_NO_METHOD, /* the class has no such method, or only abstract ones */
	JDWP_NATIVE,    /* it is native: no breakpoint can be there */
	JDWP_THREW,     /* System.load threw */
	JDWP_LEFT,      /* choose() gave up */
	JDWP_ERROR,     /* a reply with an error code */
};

/*
 * After any other result than JDWP_LOADED, `why` is a clause "WHY; what to do", which the caller
 * puts behind the name of what it attaches to ("%s: %s"). It has no control characters, whatever
 * the machine said. `*pid` (may be NULL) is the machine's own number for itself, 0 when it did not
 * come so far or cannot tell. Nothing of ours is left in the machine: requests cleared, the thread
 * resumed, the connection given back by VM.Dispose while it lives.
 */
enum jdwp_result jdwp_load(const struct jdwp_request *q, int64_t *pid, char *why, size_t n);

#endif
