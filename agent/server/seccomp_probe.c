/* SPDX-License-Identifier: MIT
 *
 * seccomp_probe.c - would a seccomp filter kill the server for its system calls? Target side,
 * before the server starts.
 *
 * A filter that refuses a call does no harm. A filter that kills would end the server at its first
 * viewer, or the program if the program tried the call itself. Before Linux 5.16 a signal that
 * dumps core (such a filter sends SIGSYS) even ended every process of that memory, the program
 * among them. So a disposable process tries all calls first, without effect: on such a kernel in
 * memory of its own, on later ones in the program's, which saves a fork. The filter's answer to
 * clone cannot be tested.
 *
 * Another process tests the calls that change a user, because Android's filter kills every app for
 * them. Without them the server only cannot follow its target to another user, and under such a
 * filter the target can seldom change users itself.
 */
#include "server/seccomp_probe.h"
#include "base/prim_linux.h"
#include "base/syscalls.h"
#include "dump/preconditions.h"

#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif

#define STACK_BYTES (16u << 10)

/* The program itself asks, which is cheaper than reading /proc: no known filter kills for prctl. */
static bool is_filtered(void)
{
	return mt_prim_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
}

/* The kernel that first said this (6.3) is later than the one that changed (5.16). */
static bool deaths_are_shared(void)
{
	return getauxval(AT_RSEQ_FEATURE_SIZE) == 0;
}

/* With wrong arguments, or such that change nothing. */
static void try_each(const long *calls, size_t count)
{
	uint64_t no_core[2] = { 0, 0 };

	mt_prim_call(SYS_prlimit64, 0, 4 /* RLIMIT_CORE */, (long)no_core, 0, 0, 0);
	for (size_t i = 0; i < count; i++)
		mt_prim_call(calls[i], -1, -1, -1, -1, -1, -1);
}

static int try_calls(void *unused)
{
	static const long calls[] = {
		SYS_prlimit64,  SYS_setsid,  SYS_rt_sigaction, SYS_rt_sigprocmask,
		SYS_signalfd4,  SYS_prctl,   SYS_chdir,        SYS_umask,
		SYS_bind,       SYS_listen,  SYS_accept4,      SYS_getsockopt,
		SYS_setsockopt, SYS_connect, SYS_sendto,       SYS_recvfrom,
		SYS_shutdown,   SYS_openat,  SYS_read,         SYS_pread64,
		SYS_lseek,      SYS_close,   SYS_readlinkat,   CALL_FSTATAT,
		SYS_unlinkat,   SYS_fchmod,  SYS_getdents64,   CALL_FCNTL,
		SYS_ioctl,      SYS_futex,   SYS_nanosleep,    SYS_clock_gettime,
		SYS_tgkill,     SYS_madvise, SYS_munmap,       SYS_mincore,
		SYS_getpid,     SYS_gettid,  SYS_getppid,      CALL_GETEUID,
		SYS_capget,     SYS_capset,  SYS_wait4,        SYS_waitid,
	};
	static const long seldom[] = { SYS_close_range, SYS_pidfd_open, SYS_kcmp, SYS_membarrier };
	long now[2] = { 0, 0 };

	static const long dumps[] = { SYS_getcwd, SYS_write, SYS_linkat, SYS_renameat };

	(void)unused;
	try_each(calls, sizeof(calls) / sizeof(*calls));
	if (dump_wanted()) {
		try_each(dumps, sizeof(dumps) / sizeof(*dumps));
		mt_prim_call_seldom(SYS_pidfd_getfd, -1, -1, -1);
	}
	mt_prim_call(SYS_close,
		     mt_prim_call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0), 0,
		     0, 0, 0, 0);
	for (size_t i = 0; i < sizeof(seldom) / sizeof(*seldom); i++)
		mt_prim_call_seldom(seldom[i], -1, -1, -1);
	mt_prim_call(SYS_ppoll, 0, 0, (long)now, 0, 8, 0);
	mt_prim_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	return 0;
}

static int try_changes(void *unused)
{
	static const long calls[] = { CALL_SETGROUPS, CALL_SETRESGID, CALL_SETRESUID };

	(void)unused;
	try_each(calls, sizeof(calls) / sizeof(*calls));
	mt_prim_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	return 0;
}

/* We wait for its end; it has no exit signal, and a table of descriptors of its own. */
static bool dies_of(int (*try)(void *), uint8_t *stack)
{
	int status = 0, pid = clone(try, stack + STACK_BYTES - 64,
				    CLONE_VFORK | (deaths_are_shared() ? 0 : CLONE_VM), NULL);

	if (pid > 0)
		mt_prim_call(SYS_wait4, pid, (long)&status, __WCLONE, 0, 0, 0);
	return WIFSIGNALED(status);
}

bool seccomp_probe_kills(bool *changes_kill)
{
	uint8_t *stack = is_filtered() ? mt_prim_map(STACK_BYTES, true) : NULL;

	if (!stack)
		return false;
	bool kills = dies_of(try_calls, stack);
	*changes_kill = !kills && dies_of(try_changes, stack);
	mt_prim_unmap(stack, STACK_BYTES);
	return kills;
}
