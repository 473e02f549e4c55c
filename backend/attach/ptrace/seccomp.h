/* SPDX-License-Identifier: MIT
 *
 * seccomp.h - would a process' seccomp filters kill it for the system calls that load the agent?
 * Runs in the tracing process.
 */
#ifndef ATTACH_PTRACE_SECCOMP_H
#define ATTACH_PTRACE_SECCOMP_H

#include "base/base.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

enum inject_verdict {
	VERDICT_FREE,    /* every call passes, or fails with an errno */
	VERDICT_DEADLY,  /* *call names one that kills */
	VERDICT_UNKNOWN, /* the filters cannot be read */
};

/* The caller traces tid, which is stopped. */
enum inject_verdict inject_seccomp(pid_t tid, const char **call);

/* One filter's result for a call (SECCOMP_RET_*); SECCOMP_RET_KILL_PROCESS for an invalid
 * filter. Pure. */
uint32_t inject_filter_run(const struct sock_filter *program, size_t length,
			   const struct seccomp_data *data);

#endif
