/* SPDX-License-Identifier: MIT
 *
 * stuck.h - does a call in another process hang, or does it only take long? Reads /proc alone,
 * while the thread runs.
 */
#ifndef ATTACH_PTRACE_STUCK_H
#define ATTACH_PTRACE_STUCK_H

#include "base/base.h"
#include <sys/types.h>

#define STUCK_THREADS 512

struct stuck_thread {
	pid_t tid;
	char state;     /* as /proc names it */
	uint64_t ticks; /* of cpu time */
};

/* All 0 when the call begins. */
struct inject_stuck {
	uint64_t since_ns; /* start of the current wait, 0 = not waiting */
	uint64_t word;     /* address of the futex */
	size_t count;
	struct stuck_thread then[STUCK_THREADS]; /* the process' threads at that time */
};

/* Call it regularly while the call in tid runs. True: the call hangs. */
bool inject_is_stuck(struct inject_stuck *s, pid_t pid, pid_t tid);

/* Did every thread of `now` but tid run since s->then, or sleep? For tests. */
bool inject_all_had_a_turn(const struct inject_stuck *s, const struct stuck_thread *now,
			   size_t count, pid_t tid);

#endif
