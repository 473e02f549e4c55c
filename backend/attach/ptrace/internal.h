/* SPDX-License-Identifier: MIT
 *
 * internal.h - a process that is made to load the agent, for attach/ptrace/search.c (finds a thread
 * at a safe point) and attach/ptrace/inject.c (makes the calls on it). Main thread only.
 */
#ifndef ATTACH_PTRACE_INTERNAL_H
#define ATTACH_PTRACE_INTERNAL_H

#include "attach/ptrace/inject.h"
#include "attach/ptrace/modules.h"
#include "attach/ptrace/safe_point.h"
#include "attach/ptrace/stuck.h"
#include "attach/ptrace/thread.h"

#define CALL_NS                                                                                    \
	10000000000ull /* for one call; then the user is told, and the call is waited for          \
			*/
#define STARVED_NS 180000000000ull /* ... while the process gets on, but hardly gets to run */
#define STOP_NS 50000000ull        /* limit for a thread to stop when others can be tried */

struct inject_work {
	const struct inject_job *job;
	struct inject_result *r;
	struct inject_modules modules;
	struct inject_ground ground;
	struct inject_thread thread, other; /* other: a late one, while a call is under way */
	pid_t late[64];                     /* threads that did not stop in time, but will */
	size_t late_count;
	bool refused, stopped; /* some thread could not be traced; some was stopped */
	bool group;            /* the process was stopped meanwhile: SIGSTOP, job control */
	bool other_program;    /* it executed another program */
	bool told;             /* said() was called for a call that takes long */
	uint32_t random;
	struct inject_stuck stuck; /* the call under way */
	uint64_t scratch;          /* the stack in the process, 0 = none */
	uint64_t errno_at;
	int errno_value;
	void (*said)(void *arg, const struct inject_result *r);
	void *arg;
};

#define FAIL(w, ...) (err_set(&(w)->r->err, 3, __VA_ARGS__))

#endif
