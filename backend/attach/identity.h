/* SPDX-License-Identifier: MIT
 *
 * identity.h - is a process still the program that an attach looked at? Between two looks it may
 * end, or execute another program: then what was found missing (a C library, a right, memory) says
 * nothing about what is there now.
 *
 * An open /proc/PID/mem stays with the memory of the program that it was opened for: once that is
 * gone, it reads nothing. The kernel lets it go a moment after the new program has begun; by then
 * the auxiliary vector differs, unless the same program is mapped at the same addresses. Main
 * thread only.
 */
#ifndef ATTACH_IDENTITY_H
#define ATTACH_IDENTITY_H

#include "base/base.h"

#include <sys/types.h>

/* OTHER: another program, or the thread through which memtop looked has ended */
enum identity { IDENTITY_SAME, IDENTITY_ENDED, IDENTITY_OTHER };

#define IDENTITY_VECTOR 512 /* of the auxiliary vector, more than there is */

struct attach_identity {
	pid_t pid, thread;
	uint64_t start_ns; /* 0: it had ended before */
	int mem;           /* -1: the kernel did not let memtop look into its memory */
	char vector[IDENTITY_VECTOR];
};

void attach_identity_take(struct attach_identity *i, pid_t pid);
/* What the process is now. IDENTITY_SAME also for one that had ended before. */
enum identity attach_identity_look(const struct attach_identity *i);
void attach_identity_release(struct attach_identity *i);

#endif
