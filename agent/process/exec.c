/* SPDX-License-Identifier: MIT
 *
 * exec.c - the exec family: takes the agent along into the new program.
 *
 * hooks/follow.c decides which programs it follows, and makes their environment. This file handles
 * each call's arguments and keeps its behaviour: errno, PATH, scripts without "#!". An exec may be
 * called between vfork and exec, and in a signal handler. A child of vfork has another pid than the
 * process whose memory it works in: its exec starts a program of its own, and that process's
 * session continues.
 */
#include "base/compiler.h"
#include "base/types.h"
#include "hooks/follow.h"
#include "process/found.h"
#include "hooks/init.h"
#include "hooks/process_reals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Declares `env` in the caller: envp as the new program shall get it. */
#define WITH_US(env, envp, how, folder, path)                                                      \
	struct follow us;                                                                          \
	hooks_in_child();                                                                          \
	bool ours = mt_follow_exec(&us, how, folder, path, (char *const *)(envp));                 \
	char **env = ours ? FOLLOW_ENV(&us, envp) : (char **)(envp);                               \
	if (ours)                                                                                  \
		mt_follow_go(&us);
/* exec came back, so it has failed. */
#define FAILED(rc) (ours ? mt_follow_failed(&us, rc) : (rc))

static int sys_execve(const char *path, char *const *argv, char *const *envp)
{
	return (int)syscall(SYS_execve, path, argv, envp);
}

static int any_execve(const char *path, char *const *argv, char *const *envp)
{
	WITH_US(env, envp, LOOKUP_PATH, AT_FDCWD, path);
	int rc = sys_execve(path, argv, env);
	return FAILED(rc);
}

/* The PATH search is libc's; its own execve inside does not come back to us. */
static int any_execvpe(const char *file, char *const *argv, char *const *envp)
{
	hooks_found();
	if (!mt_process.execvpe) {
		errno = ENOSYS;
		return -1;
	}
	WITH_US(env, envp, LOOKUP_SEARCH, AT_FDCWD, file);
	int rc = mt_process.execvpe(file, argv, env);
	return FAILED(rc);
}

MT_EXPORT int execve(const char *path, char *const *argv, char *const *envp)
{
	return any_execve(path, argv, envp);
}

MT_EXPORT int execv(const char *path, char *const *argv)
{
	return any_execve(path, argv, environ);
}

MT_EXPORT int execvp(const char *file, char *const *argv)
{
	return any_execvpe(file, argv, environ);
}

MT_EXPORT int execvpe(const char *file, char *const *argv, char *const *envp)
{
	return any_execvpe(file, argv, envp);
}

/* NULL is the kernel's to refuse, and nothing to compare with by the function's declaration. */
static enum lookup lookup_of(const char *path, int flags)
{
	__asm__("" : "+r"(path));
	return path && !*path && flags & AT_EMPTY_PATH ? LOOKUP_EMPTY : LOOKUP_PATH;
}

MT_EXPORT int execveat(int dir, const char *path, char *const *argv, char *const *envp, int flags)
{
	WITH_US(env, envp, lookup_of(path, flags), dir, path);
	int rc = (int)syscall(SYS_execveat, dir, path, argv, env, flags);
	return FAILED(rc);
}

/* How it is done is libc's: kernels before 3.19 have no execveat, and each libc goes by
 * /proc/self/fd its own way. */
MT_EXPORT int fexecve(int fd, char *const *argv, char *const *envp)
{
	hooks_found();
	if (!mt_process.fexecve) {
		errno = ENOSYS;
		return -1;
	}
	WITH_US(env, envp, LOOKUP_EMPTY, fd, "");
	int rc = mt_process.fexecve(fd, argv, envp ? env : NULL); /* glibc refuses NULL */
	return FAILED(rc);
}

/* The arguments of an execl form, up to its NULL, as an array on the caller's stack. */
#define COLLECT(argv, ap, first)                                                                   \
	va_list ap;                                                                                \
	size_t argc = 0;                                                                           \
	va_start(ap, first);                                                                       \
	for (const char *s = first; s; s = va_arg(ap, const char *))                               \
		argc++;                                                                            \
	va_end(ap);                                                                                \
	char **argv = alloca((argc + 1) * sizeof(*argv));                                          \
	va_start(ap, first);                                                                       \
	argv[0] = (char *)first;                                                                   \
	for (size_t i = 1; i <= argc; i++)                                                         \
		argv[i] = va_arg(ap, char *);

MT_EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT(argv, ap, first);
	va_end(ap);
	return any_execve(path, argv, environ);
}

MT_EXPORT int execlp(const char *file, const char *first, ...)
{
	COLLECT(argv, ap, first);
	va_end(ap);
	return any_execvpe(file, argv, environ);
}

MT_EXPORT int execle(const char *path, const char *first, ...)
{
	COLLECT(argv, ap, first);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	return any_execve(path, argv, envp);
}
