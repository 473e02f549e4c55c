/* SPDX-License-Identifier: MIT
 *
 * regs.c - saves and restores all registers of a stopped thread, whatever register sets its machine
 * has.
 */
#include "attach/ptrace/stopped_process.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

int inject_regs_read(pid_t tid, struct inject_regs *r)
{
	for (int i = 0; i < INJECT_SETS; i++) {
		struct iovec v = { r->set[i], INJECT_SET_BYTES };

		r->bytes[i] = 0;
		if (!inject_sets[i].type)
			continue;
		if (ptrace(PTRACE_GETREGSET, tid, inject_sets[i].type, &v)) {
			if (inject_sets[i].always)
				return -errno;
			continue;
		}
		if (v.iov_len >= INJECT_SET_BYTES) /* cut off: it could not be restored */
			return -EMSGSIZE;
		r->bytes[i] = v.iov_len;
	}
	return 0;
}

int inject_regs_write(pid_t tid, const struct inject_regs *r)
{
	for (int i = 0; i < INJECT_SETS; i++) {
		struct iovec v = { (void *)(uintptr_t)r->set[i], r->bytes[i] };

		if (r->bytes[i] && ptrace(PTRACE_SETREGSET, tid, inject_sets[i].type, &v))
			return -errno;
	}
	inject_regs_forget_call(tid);
	return 0;
}
