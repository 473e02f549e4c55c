/* SPDX-License-Identifier: MIT
 *
 * reap.c - the calls in which a process waits for its children.
 *
 * Orphans fall to process 1 of a pid namespace and to a subreaper. The servers of the programs
 * below it are among them, and the kernel gives an orphan SIGCHLD as its exit signal. So where such
 * a process waits for any child, the hook looks which one it would get (WNOWAIT), reaps servers by
 * itself, and asks the real call for the first that is none. SIGCHLD comes for a server, too; one
 * signal may stand for any number of children in any case.
 *
 * A server that waits for memtop may be the last child. Then there is no child left to wait for.
 */
#include "base/compiler.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "collect/proc.h"
#include "collect/shared.h"
#include "hooks/caller.h"
#include "hooks/reals.h"
#include "process/reap.h"

#include <errno.h>
#include <sys/wait.h>

#define LIST_BYTES 4096 /* of children's numbers; more are not all servers */

/* Who gave up rights may be under a filter that kills for what the agent calls here. A function
 * that is not the C library's is left as it is. */
static bool passes(void)
{
	return mt_shared && mt_shared->own && atomic_load(&mt_shared->xinherits) &&
	       mt_state_sealed() == SEAL_NONE && !mt_reals.wrapped && mt_reals.waitid &&
	       mt_reals.wait4;
}

/* Known for a process of one thread alone: each thread has children of its own. */
MT_COLD static bool has_servers_alone(void)
{
	char file[48], text[LIST_BYTES];
	int self = proc_own();

	if (proc_read(self, "stat", text, sizeof(text)) <= 0 || proc_field(text, 20) != 1)
		return false;
	mt_format(file, sizeof(file), "task/%d/children", self);
	long n = proc_read(self, file, text, sizeof(text));
	if (n <= 0 || n + 1 == LIST_BYTES)
		return false;
	for (const char *at = text; *at; at++) {
		int pid = 0;
		while (*at >= '0' && *at <= '9')
			pid = pid * 10 + (*at++ - '0');
		if (*at != ' ' || !proc_is_server(pid))
			return false;
	}
	return true;
}

/* The first child with such an event that is no server; 0 = none yet (WNOHANG); -1: errno. */
MT_COLD static pid_t first_child(int events)
{
	for (;;) {
		siginfo_t info = { .si_pid = 0 };
		if (mt_reals.waitid(P_ALL, 0, &info, events | WNOHANG | WNOWAIT))
			return -1;
		if (!info.si_pid && has_servers_alone()) {
			errno = ECHILD;
			return -1;
		}
		if (!info.si_pid && events & WNOHANG)
			return 0;
		if (!info.si_pid && mt_reals.waitid(P_ALL, 0, &info, events | WNOWAIT))
			return -1;
		if (!proc_is_server(proc_number(info.si_pid)))
			return info.si_pid;
		mt_reals.waitid(P_PID, (unsigned)info.si_pid, &info, (events & ~WNOWAIT) | WNOHANG);
	}
}

/* Another thread may have been faster with that child. */
MT_COLD static pid_t reap(int *status, int flags, void *usage)
{
	int kept = errno;
	pid_t got, child;

	do {
		child = first_child(flags | WEXITED);
		if (child <= 0)
			return child;
		got = mt_reals.wait4(child, status, flags | WNOHANG, usage);
	} while (!got || (got < 0 && errno == ECHILD));
	if (got > 0)
		errno = kept;
	return got;
}

MT_COLD static int reap_to(siginfo_t *to, int flags)
{
	int kept = errno;
	siginfo_t info;

	do {
		pid_t child = first_child(flags);
		if (child < 0)
			return -1;
		memset(&info, 0, sizeof(info));
		if (!child)
			break;
		if (mt_reals.waitid(P_PID, (unsigned)child, &info, flags | WNOHANG) &&
		    errno != ECHILD)
			return -1;
	} while (!info.si_pid);
	if (to)
		*to = info;
	errno = kept;
	return 0;
}

JUMPS MT_EXPORT pid_t wait(int *status)
{
	mt_wait_wakes();
	return unlikely(passes()) ? reap(status, 0, NULL) : mt_reals.wait(status);
}

JUMPS MT_EXPORT pid_t waitpid(pid_t pid, int *status, int flags)
{
	mt_wait_wakes();
	return unlikely(pid == -1 && passes()) ? reap(status, flags, NULL)
					       : mt_reals.waitpid(pid, status, flags);
}

JUMPS MT_EXPORT pid_t wait3(int *status, int flags, struct rusage *usage)
{
	mt_wait_wakes();
	return unlikely(passes()) ? reap(status, flags, usage)
				  : mt_reals.wait3(status, flags, usage);
}

JUMPS MT_EXPORT pid_t wait4(pid_t pid, int *status, int flags, struct rusage *usage)
{
	mt_wait_wakes();
	return unlikely(pid == -1 && passes()) ? reap(status, flags, usage)
					       : mt_reals.wait4(pid, status, flags, usage);
}

JUMPS MT_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int flags)
{
	mt_wait_wakes();
	return unlikely(type == P_ALL && passes()) ? reap_to(info, flags)
						   : mt_reals.waitid((int)type, id, info, flags);
}
