/* SPDX-License-Identifier: MIT
 *
 * process_reals.c - looks up the functions behind the process hooks.
 */
#include "hooks/process_reals.h"
#include "base/libc.h"
#include "modules/real.h"

struct process_reals mt_process;

static void find_exec(void)
{
	mt_process.execve = (__typeof__(mt_process.execve))mt_real_next("execve");
	mt_process.execvpe = (__typeof__(mt_process.execvpe))mt_real_next("execvpe");
	mt_process.execveat = (__typeof__(mt_process.execveat))mt_real_next("execveat");
	mt_process.fexecve = (__typeof__(mt_process.fexecve))mt_real_next("fexecve");
	mt_process.own_execvpe = (__typeof__(mt_process.execvpe))mt_libc_own("execvpe");
	if (!mt_process.own_execvpe)
		mt_process.own_execvpe = mt_process.execvpe;
	mt_process.execv = (__typeof__(mt_process.execv))mt_real_foreign("execv");
	mt_process.execvp = (__typeof__(mt_process.execvp))mt_real_foreign("execvp");
	mt_process.execl = (__typeof__(mt_process.execl))mt_real_foreign("execl");
	mt_process.execlp = (__typeof__(mt_process.execlp))mt_real_foreign("execlp");
	mt_process.execle = (__typeof__(mt_process.execle))mt_real_foreign("execle");
}

static void find_spawn(void)
{
	mt_process.spawn = (__typeof__(mt_process.spawn))mt_real_next("posix_spawn");
	mt_process.spawnp = (__typeof__(mt_process.spawnp))mt_real_next("posix_spawnp");
	mt_process.setenv = (__typeof__(mt_process.setenv))mt_real_next("setenv");
	mt_process.unsetenv = (__typeof__(mt_process.unsetenv))mt_real_next("unsetenv");
	mt_process.putenv = (__typeof__(mt_process.putenv))mt_real_next("putenv");
	mt_process.clearenv = (__typeof__(mt_process.clearenv))mt_real_next("clearenv");
	mt_process.system = (__typeof__(mt_process.system))mt_real_next("system");
	mt_process.popen = (__typeof__(mt_process.popen))mt_real_next("popen");
#ifdef HAS_WORDEXP
	mt_process.wordexp = (__typeof__(mt_process.wordexp))mt_real_next("wordexp");
#endif
}

void mt_hooks_proc_init(void)
{
#ifdef LM_ID_BASE
	mt_process.dlmopen = (void *(*)(Lmid_t, const char *, int))mt_real_next("dlmopen");
#endif
	mt_process.dlclose = (int (*)(void *))mt_real_next("dlclose");
	mt_process.fork = (pid_t(*)(void))mt_real_next("fork");
	mt_process.daemon = (int (*)(int, int))mt_real_next("daemon");
	mt_process.exit = (void (*)(int))mt_real_next("_exit");
	mt_process.Exit = (void (*)(int))mt_real_next("_Exit");
	mt_process.quick = (void (*)(int))mt_real_next("quick_exit");
	mt_process.abort = (void (*)(void))mt_real_next("abort");
	mt_process.prctl = (int (*)(int, ...))mt_real_next("prctl");
	mt_process.unshare = (int (*)(int))mt_real_next("unshare");
	mt_process.setname = (int (*)(pthread_t, const char *))mt_real_next("pthread_setname_np");
	mt_process.dlopen = (void *(*)(const char *, int))mt_real_next("dlopen");
	find_exec();
	find_spawn();
	atomic_store_explicit(&mt_process.xfound, true, memory_order_release);
}
