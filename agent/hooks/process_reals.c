/* SPDX-License-Identifier: MIT
 *
 * process_reals.c - looks up the functions behind the process hooks.
 */
#include "hooks/process_reals.h"
#include "base/types.h"
#include "modules/real.h"

struct process_reals mt_process;

static void find_exec(void)
{
	mt_process.execvpe =
		(int (*)(const char *, char *const *, char *const *))mt_real_next("execvpe");
	mt_process.fexecve = (int (*)(int, char *const *, char *const *))mt_real_next("fexecve");
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
	mt_process.quick = (void (*)(int))mt_real_next("quick_exit");
	mt_process.abort = (void (*)(void))mt_real_next("abort");
	mt_process.prctl = (int (*)(int, ...))mt_real_next("prctl");
	mt_process.setname = (int (*)(pthread_t, const char *))mt_real_next("pthread_setname_np");
	mt_process.dlopen = (void *(*)(const char *, int))mt_real_next("dlopen");
	find_exec();
	find_spawn();
	atomic_store_explicit(&mt_process.xfound, true, memory_order_release);
}
