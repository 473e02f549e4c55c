/* SPDX-License-Identifier: MIT
 *
 * process.c - hooks outside the malloc family: loads and unloads, fork, daemon, _exit, abort, names
 * of threads, unshare, and calls that give up rights.
 *
 * dlopen and dlmopen use their return address to find the caller's RUNPATH and namespace, so the
 * hooks below enter them by a jump. They must compile to one, hence the attribute, which also holds
 * in debug builds; a test uses a plugin that only its caller's RUNPATH finds. fork needs no jump.
 * Children made in other ways are recognised by their wiped gate (record/thread.c).
 */
#include "base/compiler.h"
#include "base/libc.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "follow/board.h"
#include "hooks/caller.h"
#include "hooks/init.h"
#include "hooks/reals.h"
#include "live/live.h"
#include "modules/maps.h"
#include "record/thread.h"
#include "server/dlclose_wait.h"
#include "server/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifdef RTLD_DEEPBIND
/* What comes then has a malloc and a free that are not ours. */
MT_COLD static void suspect(void)
{
	if (atomic_load(&mt_state) != AGENT_EARLY && atomic_load(&mt_state) != AGENT_OFF)
		mt_live_suspect();
}
#endif

JUMPS MT_EXPORT void *dlopen(const char *file, int mode)
{
	hooks_found();
	mt_maps_invalidate();
#ifdef RTLD_DEEPBIND
	if (unlikely(mode & RTLD_DEEPBIND))
		suspect();
#endif
	return mt_reals.dlopen(file, mode);
}

#ifdef LM_ID_BASE
JUMPS MT_EXPORT void *dlmopen(Lmid_t ns, const char *file, int mode)
{
	hooks_found();
	mt_maps_invalidate();
	suspect();
	return mt_reals.dlmopen(ns, file, mode);
}
#endif

MT_EXPORT int dlclose(void *handle)
{
	hooks_found();
	mt_maps_invalidate();
	mt_dlclose_begin();
	int rc = mt_reals.dlclose ? mt_reals.dlclose(handle) : -1;
	mt_dlclose_end();
	mt_maps_invalidate();
	return rc;
}

MT_FORK_CODE MT_EXPORT pid_t fork(void)
{
	hooks_found();
	mt_init_forks();
	pid_t pid = mt_reals.fork ? mt_reals.fork() : LIBC(_Fork) ? LIBC(_Fork)() : -1;

	if (pid == 0)
		mt_init_forked();
	return pid;
}

/* It forks inside libc, and its parent goes at once. */
MT_EXPORT int daemon(int no_chdir, int no_close)
{
	hooks_found();
	mt_init_daemon_begins();
	int rc = mt_reals.daemon ? mt_reals.daemon(no_chdir, no_close) : -1;

	if (!rc)
		mt_init_daemon();
	else
		mt_board_write(false);
	return rc;
}

MT_FORK_CODE _Noreturn static void leave(int status)
{
	for (;;)
		mt_prim_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

MT_FORK_CODE MT_EXPORT void _exit(int status)
{
	hooks_found();
	mt_init_exits(status);
	if (mt_reals._exit)
		mt_reals._exit(status);
	leave(status);
}

MT_EXPORT void _Exit(int status)
{
	hooks_found();
	mt_init_exits(status);
	if (mt_reals._Exit)
		mt_reals._Exit(status);
	leave(status);
}

/* Where the real one was not found. */
MT_COLD static void die(void)
{
	leave(128 + SIGABRT);
}

/* By a jump, so that a core file shows the frames that it would show without us. */
MT_EXPORT void hooked_abort(void) __asm__("abort");
JUMPS void hooked_abort(void)
{
	hooks_found();
	mt_init_aborts();
	if (unlikely(!mt_reals.abort))
		mt_reals.abort = die;
	mt_reals.abort();
}

MT_EXPORT void quick_exit(int status)
{
	hooks_found();
	mt_init_quick(status);
	if (mt_reals.quick_exit)
		mt_reals.quick_exit(status);
	leave(status);
}

MT_EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		mt_state_seal(option == PR_SET_SECCOMP ? SEAL_FILTER : SEAL_RIGHTS);
	int rc = mt_reals.prctl
			 ? mt_reals.prctl(option, a[0], a[1], a[2], a[3])
			 : mt_prim_result(mt_prim_call(SYS_prctl, option, (long)a[0], (long)a[1],
						       (long)a[2], (long)a[3], 0));
	if (option == PR_SET_SECCOMP || option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
	    option == PR_SET_SECUREBITS)
		mt_server_look();
	if (option == PR_SET_CHILD_SUBREAPER && !rc)
		mt_server_inherits(a[0]);
	if (option == PR_SET_NAME && !rc)
		mt_thread_named(0, (const char *)a[0]);
	return rc;
}

/* The server shares the memory, so the kernel refuses CLONE_VM. A process of one thread has nothing
 * to copy: the answer is then that of what CLONE_VM stands for otherwise. A child of vfork shares
 * its parent's memory without us, too. */
MT_EXPORT int unshare(int flags)
{
	hooks_found();
	int kept = errno, rc = mt_reals.unshare(flags);

	if (rc && errno == EINVAL && flags & CLONE_VM && mt_server_running() &&
	    mt_state_is_pid(mt_prim_getpid())) {
		errno = kept;
		rc = mt_reals.unshare((flags & ~CLONE_VM) | CLONE_SIGHAND | CLONE_THREAD);
	}
	return rc;
}

MT_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	hooks_found();
	int rc = mt_reals.pthread_setname_np ? mt_reals.pthread_setname_np(thread, name) : ENOSYS;

	if (!rc)
		mt_thread_named(mt_thread_tid(thread), name);
	return rc;
}
