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
	 * Where a thread is stopped during the load: "pkg.Class.method", inner classes as
	 * pkg.Outer$Inner, ends with NULL. Breakpoints are set in all that exist; the first one hit
	 * counts. NULL: Handler.dispatchMessage and Activity.onResume on Android; else the first
	 * thread that runs any Java code.
	 */
	const char *const *breaks;
	/* limit of the wait for a thread; the steps before and after have JDWP_WORK_MS each */
	int timeout_ms;
	/* Optional. Called once when nothing was stopped at once; what: "a call of
	 * pkg.Class.method", "a thread that runs Java code". */
	void (*waiting)(void *arg, const char *what);
	/* Optional. The thread is stopped; pid: the machine's own pid, 0 when unknown. Returns
	 * the library to load. NULL and a line in `why`: nothing is loaded, JDWP_LEFT. */
	const char *(*choose)(void *arg, int64_t pid, char *why, size_t n);
	void *arg;
	uint64_t *held_ns; /* optional, out: how long the thread was stopped */
};

#define JDWP_WORK_MS 15000

enum jdwp_result {
	JDWP_LOADED,
	JDWP_CLOSED,    /* the connection ended */
	JDWP_NOT_JDWP,  /* the peer does not speak the protocol, or breaks it */
	JDWP_SILENT,    /* it accepts but does not answer: it has a debugger already */
	JDWP_TIMEOUT,   /* no thread was stopped in time */
	JDWP_NO_CLASS,  /* no such class is loaded */
	JDWP_NO_METHOD, /* the class has no such method, or only abstract ones */
	JDWP_NATIVE,    /* it is native: no breakpoint can be there */
	JDWP_THREW,     /* System.load threw */
	JDWP_LEFT,      /* choose() gave up */
	JDWP_ERROR,     /* a reply with an error code */
};

/*
 * After any other result than JDWP_LOADED, `why` is a clause "WHY; what to do", which the caller
 * puts behind the name of the target ("%s: %s"). It has no control characters, whatever the machine
 * sent. `*pid` (may be NULL) is the machine's own pid, 0 when unknown. Nothing stays in the
 * machine: requests are cleared, the thread is resumed, and VM.Dispose ends the session while the
 * connection lives.
 */
enum jdwp_result jdwp_load(const struct jdwp_request *q, int64_t *pid, char *why, size_t n);

#endif
