/* SPDX-License-Identifier: MIT
 *
 * process_reals.h - the functions behind the hooks of process/process.c, process/exec.c and
 * process/spawn.c.
 *
 * They are NULL until looked up, because another library's constructor may call a hook before any
 * code of the agent ran. No hook looks anything up after that: exec is mostly called in a forked
 * child. A lookup takes the loader's locks, and in such a child they stay held if another thread
 * was in the loader at the fork.
 */
#ifndef MT_HOOKS_PROCESS_REALS_H
#define MT_HOOKS_PROCESS_REALS_H

#include "hooks/init.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#if __has_include(<wordexp.h>)
#include <wordexp.h>
#define HAS_WORDEXP
#endif

#pragma GCC visibility push(hidden)

/* Declared without the system headers: Android's leave posix_spawn() out below API level 28. */
typedef int spawn_call(int *pid, const char *path, const void *actions, const void *attributes,
		       char *const *argv, char *const *envp);

struct process_reals {
	_Atomic bool xfound; /* all were looked for */
	void *(*dlopen)(const char *, int);
#ifdef LM_ID_BASE
	void *(*dlmopen)(Lmid_t, const char *, int);
#endif
	int (*dlclose)(void *);
	pid_t (*fork)(void);
	int (*daemon)(int, int);
	void (*abort)(void);
	void (*exit)(int), (*Exit)(int); /* _exit, _Exit */
	void (*quick)(int);
	int (*prctl)(int, ...);
	int (*unshare)(int);
	int (*setname)(pthread_t, const char *);
	/* process/exec.c; NULL: the C library has none, or the agent is linked in */
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	int (*fexecve)(int, char *const *, char *const *);
	int (*own_execvpe)(const char *, char *const *, char *const *); /* the C library's */
	/* ... NULL also where they are the C library's */
	int (*execv)(const char *, char *const *), (*execvp)(const char *, char *const *);
	int (*execl)(const char *, const char *, ...), (*execlp)(const char *, const char *, ...);
	int (*execle)(const char *, const char *, ...);
	/* process/spawn.c */
	spawn_call *spawn, *spawnp;
	int (*setenv)(const char *, const char *, int);
	int (*unsetenv)(const char *);
	int (*putenv)(char *);
	int (*clearenv)(void);
	int (*system)(const char *);
	void *(*popen)(const char *, const char *);
#ifdef HAS_WORDEXP
	int (*wordexp)(const char *, wordexp_t *, int);
#endif
};

extern struct process_reals mt_process;

/* Once, from init; also when set-up failed or has not begun. */
void mt_hooks_proc_init(void);

#pragma GCC visibility pop

#endif
