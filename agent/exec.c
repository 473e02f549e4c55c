/* SPDX-License-Identifier: MIT
 *
 * exec.c - the exec family: the watched process stays watched when it becomes another program.
 *
 * The agent took its own entries out of `environ` before main, so children that the program
 * starts know nothing of it. When the watched process itself calls exec (start scripts, env,
 * sh -c 'exec ...'), the new environment gets them back, also one that the caller made: our
 * LD_PRELOAD entry in front of the caller's own, and the MEMTOP_ variables. All of it lies on the
 * stack: exec may be called between vfork and exec, and a failed one must leave nothing behind.
 * A child of vfork has another pid than the watched process, and so is let through untouched.
 *
 * Which process is watched: the one that the agent was started in, and every forked child that has become
 * a session of its own (a daemon, a worker past its first two seconds: init.c). A forked child that
 * executes another program before that is none, and leaves the agent behind, unless follow=exec.
 */
#include "hooks.h"

#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define PRELOAD "LD_PRELOAD="
#define PRELOAD_LEN (sizeof(PRELOAD) - 1)

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return !strncmp(a, b, n + 1);
}

static bool is_ours(const char *var)
{
	const char *mine;

	for (unsigned i = 0; (mine = mt_init_saved(i)); i++)
		if (same_name(mine, var))
			return true;
	return false;
}

static const char *find_preload(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, PRELOAD, PRELOAD_LEN))
			return *envp + PRELOAD_LEN;
	return NULL;
}

/* Is this exec one after which we want to be there again? */
static bool wanted(void)
{
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	if (state == AGENT_OFF || state == AGENT_EARLY || !*mt_init_preload())
		return false;
	return mt_conf.follow_exec || (state == AGENT_ON && mt_init_watched());
}

/* Sizes of what fill() writes: pointers, and the text of LD_PRELOAD. */
static size_t env_slots(char *const *envp)
{
	unsigned saved = 0;

	while (mt_init_saved(saved))
		saved++;
	return count(envp) + saved + 2;
}

static size_t preload_bytes(char *const *envp)
{
	const char *user = find_preload(envp);

	return PRELOAD_LEN + strlen(mt_init_preload()) + (user ? strlen(user) + 1 : 0) + 1;
}

static void fill(char **out, char *text, char *const *envp)
{
	const char *user = find_preload(envp), *mine = mt_init_preload();
	bool there = user && strstr(user, mine);
	char *at = text;

	at = stpcpy(at, PRELOAD);
	if (!there)
		at = stpcpy(at, mine);
	if (user && *user) {
		if (!there)
			*at++ = ':';
		stpcpy(at, user);
	}
	*out++ = text;
	for (; envp && *envp; envp++)
		if (strncmp(*envp, PRELOAD, PRELOAD_LEN) && !is_ours(*envp))
			*out++ = *envp;
	for (unsigned i = 0; (*out = (char *)mt_init_saved(i)); i++)
		out++;
}

/* One that was attached or linked in does not come along; its server is to know that this was no exit. */
static bool stays(void)
{
	return (mt_attach_is() || !*mt_init_preload()) && atomic_load_explicit(&mt_state, memory_order_acquire) == AGENT_ON;
}

/* Declares `env` in the caller: envp as the new program shall get it. */
#define WITH_US(env, envp)                                                                         \
	bool ours = wanted(), told = ours || stays();                                               \
	char **env = (char **)(envp);                                                              \
	if (ours) {                                                                                \
		env = alloca(env_slots(envp) * sizeof(*env));                                      \
		fill(env, alloca(preload_bytes(envp)), (char *const *)(envp));                     \
	}                                                                                          \
	if (told)                                                                                  \
		begin();

static void begin(void)
{
	if (mt_init_watched())
		mt_server_exec_begins();
}

/* exec came back, so it has failed. */
static int failed(bool told, int rc)
{
	int saved = errno;

	if (told && mt_init_watched())
		mt_server_exec_failed();
	errno = saved;
	return rc;
}

static int sys_execve(const char *path, char *const *argv, char *const *envp)
{
	return (int)syscall(SYS_execve, path, argv, envp);
}

/* Looked up with hooks_proc.c's: exec is mostly called in a forked child, where nothing can be looked up. */
static int (*real_execvpe)(const char *, char *const *, char *const *);
static int (*real_fexecve)(int, char *const *, char *const *);

void mt_hooks_exec_init(void)
{
	real_execvpe = (int (*)(const char *, char *const *, char *const *))mt_real_next("execvpe");
	real_fexecve = (int (*)(int, char *const *, char *const *))mt_real_next("fexecve");
}

static int any_execve(const char *path, char *const *argv, char *const *envp)
{
	WITH_US(env, envp);
	return failed(told, sys_execve(path, argv, env));
}

/* The PATH search is libc's; its own execve inside does not come back to us. */
static int any_execvpe(const char *file, char *const *argv, char *const *envp)
{
	mt_hooks_proc_found();
	if (!real_execvpe) {
		errno = ENOSYS;
		return -1;
	}
	WITH_US(env, envp);
	return failed(told, real_execvpe(file, argv, env));
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

MT_EXPORT int execveat(int dir, const char *path, char *const *argv, char *const *envp, int flags)
{
	WITH_US(env, envp);
	return failed(told, (int)syscall(SYS_execveat, dir, path, argv, env, flags));
}

/* How it is done is libc's: kernels before 3.19 have no execveat, and each libc goes by /proc/self/fd its own way. */
MT_EXPORT int fexecve(int fd, char *const *argv, char *const *envp)
{
	mt_hooks_proc_found();
	if (!real_fexecve) {
		errno = ENOSYS;
		return -1;
	}
	WITH_US(env, envp);
	return failed(told, real_fexecve(fd, argv, envp ? env : NULL)); /* glibc refuses NULL */
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
