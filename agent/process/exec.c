/* SPDX-License-Identifier: MIT
 *
 * exec.c - the exec family: takes the agent along into the new program.
 *
 * hooks/follow.c decides which programs it follows, and makes their environment. This file handles
 * each call's arguments and keeps its behaviour: errno, PATH, scripts without "#!". A call goes on
 * to the next function of its name. The C library's own execv and its like take no environment: for
 * them its execve does what they would do inside. An exec may be
 * called between vfork and exec, and in a signal handler. A child of vfork has another pid than the
 * process whose memory it works in: its exec starts a program of its own, and that process's
 * session continues.
 */
#include "base/compiler.h"
#include "base/libc.h"
#include "base/prim_linux.h"
#include "base/types.h"
#include "hooks/follow.h"
#include "process/environ.h"
#include "hooks/init.h"
#include "hooks/reals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* The body of a hook: CALL with `env`, which is envp as the new program shall get it. It comes back
 * when it has failed. What only the agent's entries made too long is tried without them. */
#define EXECUTE(envp, how, folder, path, call)                                                     \
	struct follow us;                                                                          \
	hooks_in_child();                                                                          \
	bool ours = mt_follow_exec(&us, how, folder, path, argv, (char *const *)(envp));           \
	char **env = ours ? FOLLOW_ENV(&us, envp) : (char **)(envp);                               \
	if (ours)                                                                                  \
		mt_follow_go(&us);                                                                 \
	int rc = call;                                                                             \
	if (ours && mt_follow_too_long(&us, rc < 0 ? errno : 0)) {                                 \
		mt_follow_go(&us);                                                                 \
		env = (char **)(envp);                                                             \
		rc = call;                                                                         \
	}                                                                                          \
	return ours ? mt_follow_failed(&us, rc) : rc;

/* ... by the wrapper of somebody between the agent and the C library, which passes `environ` on. */
#define EXECUTE_WRAPPED(how, path, call)                                                           \
	struct follow us;                                                                          \
	hooks_in_child();                                                                          \
	bool ours = mt_follow_exec(&us, how, AT_FDCWD, path, argv, ENVIRON);                       \
	bool entered = ours && mt_environ_enter(&us);                                              \
	if (ours)                                                                                  \
		mt_follow_wrapped(&us, entered);                                                   \
	int rc = call;                                                                             \
	mt_environ_leave(&entered);                                                                \
	if (ours && mt_follow_too_long(&us, rc < 0 ? errno : 0)) {                                 \
		mt_follow_go(&us);                                                                 \
		rc = call;                                                                         \
	}                                                                                          \
	return ours ? mt_follow_failed(&us, rc) : rc;

/* The agent's call of the C library's own execve. */
static int own_execve(const char *path, char *const *argv, char *const *envp)
{
	return mt_prim_result(
		mt_prim_call(SYS_execve, (long)path, (long)argv, (long)envp, 0, 0, 0));
}

static int next_execve(const char *path, char *const *argv, char *const *envp)
{
	return mt_reals.execve ? mt_reals.execve(path, argv, envp) : own_execve(path, argv, envp);
}

static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* What the C library's own execv and execl do inside. */
static int plain_execv(const char *path, char *const *argv)
{
	EXECUTE(ENVIRON, LOOKUP_PATH, AT_FDCWD, path, own_execve(path, argv, env))
}

/* The PATH search is libc's; its own execve inside does not come back to us. */
static int plain_execvp(const char *file, char *const *argv)
{
	if (!mt_reals.own_execvpe)
		return missing();
	EXECUTE(ENVIRON, LOOKUP_SEARCH, AT_FDCWD, file, mt_reals.own_execvpe(file, argv, env))
}

static int any_execv(const char *path, char *const *argv)
{
	if (likely(!mt_reals.execv))
		return plain_execv(path, argv);
	EXECUTE_WRAPPED(LOOKUP_PATH, path, mt_reals.execv(path, argv))
}

static int any_execvp(const char *file, char *const *argv)
{
	if (likely(!mt_reals.execvp))
		return plain_execvp(file, argv);
	EXECUTE_WRAPPED(LOOKUP_SEARCH, file, mt_reals.execvp(file, argv))
}

MT_EXPORT int execve(const char *path, char *const *argv, char *const *envp)
{
	hooks_found();
	EXECUTE(envp, LOOKUP_PATH, AT_FDCWD, path, next_execve(path, argv, env))
}

MT_EXPORT int execv(const char *path, char *const *argv)
{
	hooks_found();
	return any_execv(path, argv);
}

MT_EXPORT int execvp(const char *file, char *const *argv)
{
	hooks_found();
	return any_execvp(file, argv);
}

MT_EXPORT int execvpe(const char *file, char *const *argv, char *const *envp)
{
	hooks_found();
	if (!mt_reals.execvpe)
		return missing();
	EXECUTE(envp, LOOKUP_SEARCH, AT_FDCWD, file, mt_reals.execvpe(file, argv, env))
}

/* A path that cannot be read is the kernel's to refuse. */
static enum lookup lookup_of(const char *path, int flags)
{
	if (!(flags & AT_EMPTY_PATH) || !mt_prim_readable((uintptr_t)path, 1))
		return LOOKUP_PATH;
	return *path ? LOOKUP_PATH : LOOKUP_EMPTY;
}

MT_EXPORT int execveat(int dir, const char *path, char *const *argv, char *const *envp, int flags)
{
	hooks_found();
	EXECUTE(envp, lookup_of(path, flags), dir, path,
		mt_reals.execveat ? mt_reals.execveat(dir, path, argv, env, flags)
				  : mt_prim_result(mt_prim_call(SYS_execveat, dir, (long)path,
								(long)argv, (long)env, flags, 0)))
}

/* How it is done is libc's: kernels before 3.19 have no execveat, and each libc goes by
 * /proc/self/fd its own way. glibc refuses NULL for an environment. */
MT_EXPORT int fexecve(int fd, char *const *argv, char *const *envp)
{
	hooks_found();
	if (!mt_reals.fexecve)
		return missing();
	EXECUTE(envp, LOOKUP_EMPTY, fd, "", mt_reals.fexecve(fd, argv, envp ? env : NULL))
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

/* Somebody's wrapper of an execl form gets its arguments as a list again; what lies behind the end
 * of a list is not looked at. */
#define LISTED_MAX 32
#define EIGHT(l, i) l[i], l[i + 1], l[i + 2], l[i + 3], l[i + 4], l[i + 5], l[i + 6], l[i + 7]
typedef int listed(const char *path, const char *first, ...);

static bool fits(listed *f, size_t argc)
{
	return unlikely(f != NULL) && argc + 2 <= LISTED_MAX;
}

static int call_listed(listed *f, const char *path, char **argv, size_t argc, char *const *envp)
{
	const void *l[LISTED_MAX] = { NULL };

	memcpy(l, argv, argc * sizeof(*l));
	l[argc + 1] = envp;
	return f(path, EIGHT(l, 0), EIGHT(l, 8), EIGHT(l, 16), EIGHT(l, 24));
}

MT_EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT(argv, ap, first);
	va_end(ap);
	hooks_found();
	if (!fits(mt_reals.execl, argc))
		return mt_reals.execl ? any_execv(path, argv) : plain_execv(path, argv);
	EXECUTE_WRAPPED(LOOKUP_PATH, path, call_listed(mt_reals.execl, path, argv, argc, NULL))
}

MT_EXPORT int execlp(const char *file, const char *first, ...)
{
	COLLECT(argv, ap, first);
	va_end(ap);
	hooks_found();
	if (!fits(mt_reals.execlp, argc))
		return mt_reals.execlp ? any_execvp(file, argv) : plain_execvp(file, argv);
	EXECUTE_WRAPPED(LOOKUP_SEARCH, file, call_listed(mt_reals.execlp, file, argv, argc, NULL))
}

MT_EXPORT int execle(const char *path, const char *first, ...)
{
	COLLECT(argv, ap, first);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	hooks_found();
	EXECUTE(envp, LOOKUP_PATH, AT_FDCWD, path,
		fits(mt_reals.execle, argc) ? call_listed(mt_reals.execle, path, argv, argc, env)
					    : own_execve(path, argv, env))
}
