/* SPDX-License-Identifier: MIT
 *
 * names.h - every function that the agent hooks, one row each. A new hook is its row here and its
 * function.
 *
 *     X(linked, weak, name, result, parameters, ...)
 *
 * The rest follows from the rows: the pointers to the real functions and their lookup
 * (modules/real.c, hooks/reals.c, hooks/cxx.c), the tables of an agent that --wrap linked in
 * (linked/), and in the Makefile what the agent exports ($(B)/agent.map) and what is wrapped.
 *
 * linked: where the agent is linked into a program by ld --wrap, the program's calls
 *     HOOK   reach the hook; so do the calls of its libraries, which modules/rebind.c redirects
 *     REAL   reach the hook, which calls the real function
 *     WRAP   reach the hook, which needs no real function
 *     LEFT   reach the real function: nothing follows a child of such a program
 *     NONE   always reach the real function: the agent only calls it
 *     JEMALLOC, OPERATOR: as HOOK, by other names (agent/linked/)
 * weak: the real function is linked only where the program has it. LIBC_WEAK: libc's malloc comes
 *     in one piece with it, except in musl.
 *
 * The Makefile has the preprocessor expand HOOKED(NAMES_LIST), so this file includes nothing.
 */
#ifndef MT_MODULES_NAMES_H
#define MT_MODULES_NAMES_H

/* size_t as C++'s names spell it. */
#if __SIZEOF_SIZE_T__ != 8
#define _ZdaPvm _ZdaPvj
#define _ZdaPvmSt11align_val_t _ZdaPvjSt11align_val_t
#define _ZdlPvm _ZdlPvj
#define _ZdlPvmSt11align_val_t _ZdlPvjSt11align_val_t
#define _Znam _Znaj
#define _ZnamRKSt9nothrow_t _ZnajRKSt9nothrow_t
#define _ZnamSt11align_val_t _ZnajSt11align_val_t
#define _ZnamSt11align_val_tRKSt9nothrow_t _ZnajSt11align_val_tRKSt9nothrow_t
#define _Znwm _Znwj
#define _ZnwmRKSt9nothrow_t _ZnwjRKSt9nothrow_t
#define _ZnwmSt11align_val_t _ZnwjSt11align_val_t
#define _ZnwmSt11align_val_tRKSt9nothrow_t _ZnwjSt11align_val_tRKSt9nothrow_t
#endif
#define NAMES_TEXT_(name) #name
#define NAMES_TEXT(name) NAMES_TEXT_(name)
#define NAMES_PASTE(linked, name) linked##_##name
#define NAMES_LIST(linked, weak, name, ...) NAMES_PASTE(linked, name)

/* clang-format off */
/* The heap's: modules/real.c finds them first of all. Last column: does it make a block? */
#define HEAP_NAMES(X)                                                                              \
	X(HOOK,, malloc, void *, (size_t n), true)                                                 \
	X(HOOK,, free, void, (void *p), false)                                                     \
	X(HOOK,, calloc, void *, (size_t n, size_t size), true)                                    \
	X(HOOK,, realloc, void *, (void *p, size_t n), false)                                      \
	X(HOOK, LIBC_WEAK, posix_memalign, int, (void **out, size_t align, size_t n), true)        \
	X(HOOK, LIBC_WEAK, aligned_alloc, void *, (size_t align, size_t n), true)                  \
	X(HOOK, LIBC_WEAK, memalign, void *, (size_t align, size_t n), true)                       \
	X(HOOK, WEAK, valloc, void *, (size_t n), true)                                            \
	X(HOOK, WEAK, pvalloc, void *, (size_t n), true)                                           \
	X(HOOK, LIBC_WEAK, malloc_usable_size, size_t, (void *p), false)

/* ... whose real function is only called where it is not the C library's: that one calls others. */
#define HEAP_FOREIGN_NAMES(X)                                                                      \
	X(WRAP,, reallocarray, void *, (void *p, size_t n, size_t size), false)                    \
	X(WRAP,, cfree, void, (void *p), false)                                                    \
	X(WRAP,, free_sized, void, (void *p, size_t n), false)                                     \
	X(WRAP,, free_aligned_sized, void, (void *p, size_t align, size_t n), false)

/* Not to be found unless jemalloc is the allocator in use: hooks/jemalloc_names.c. */
#define JEMALLOC_NAMES(X)                                                                          \
	X(JEMALLOC, WEAK, mallocx, void *, (size_t n, int flags), true)                            \
	X(JEMALLOC, WEAK, rallocx, void *, (void *p, size_t n, int flags), false)                  \
	X(JEMALLOC, WEAK, xallocx, size_t, (void *p, size_t n, size_t extra, int flags), false)    \
	X(JEMALLOC, WEAK, dallocx, void, (void *p, int flags), false)                              \
	X(JEMALLOC, WEAK, sdallocx, void, (void *p, size_t n, int flags), false)

/* C++'s operators, in the order of hooks/cxx.c. Last column: the form's name there. */
#define NEW_NAMES(X)                                                                               \
	X(OPERATOR,, _Znwm, void *, (size_t n), NEW)                                               \
	X(OPERATOR,, _Znam, void *, (size_t n), NEW_ARRAY)                                         \
	X(OPERATOR,, _ZnwmRKSt9nothrow_t, void *, (size_t n, uintptr_t tag), NEW_NT)               \
	X(OPERATOR,, _ZnamRKSt9nothrow_t, void *, (size_t n, uintptr_t tag), NEW_ARRAY_NT)         \
	X(OPERATOR,, _ZnwmSt11align_val_t, void *, (size_t n, size_t align), NEW_AL)               \
	X(OPERATOR,, _ZnamSt11align_val_t, void *, (size_t n, size_t align), NEW_ARRAY_AL)         \
	X(OPERATOR,, _ZnwmSt11align_val_tRKSt9nothrow_t, void *,                                   \
	  (size_t n, size_t align, uintptr_t tag), NEW_AL_NT)                                      \
	X(OPERATOR,, _ZnamSt11align_val_tRKSt9nothrow_t, void *,                                   \
	  (size_t n, size_t align, uintptr_t tag), NEW_ARRAY_AL_NT)
#define DELETE_NAMES(X)                                                                            \
	X(OPERATOR,, _ZdlPv, void, (void *p), DEL)                                                 \
	X(OPERATOR,, _ZdaPv, void, (void *p), DEL_ARRAY)                                           \
	X(OPERATOR,, _ZdlPvm, void, (void *p, size_t n), DEL_SIZE)                                 \
	X(OPERATOR,, _ZdaPvm, void, (void *p, size_t n), DEL_ARRAY_SIZE)                           \
	X(OPERATOR,, _ZdlPvRKSt9nothrow_t, void, (void *p, uintptr_t tag), DEL_NT)                 \
	X(OPERATOR,, _ZdaPvRKSt9nothrow_t, void, (void *p, uintptr_t tag), DEL_ARRAY_NT)           \
	X(OPERATOR,, _ZdlPvSt11align_val_t, void, (void *p, size_t align), DEL_AL)                 \
	X(OPERATOR,, _ZdaPvSt11align_val_t, void, (void *p, size_t align), DEL_ARRAY_AL)           \
	X(OPERATOR,, _ZdlPvmSt11align_val_t, void, (void *p, size_t n, size_t align), DEL_SIZE_AL) \
	X(OPERATOR,, _ZdaPvmSt11align_val_t, void, (void *p, size_t n, size_t align),              \
	  DEL_ARRAY_SIZE_AL)                                                                       \
	X(OPERATOR,, _ZdlPvSt11align_val_tRKSt9nothrow_t, void,                                    \
	  (void *p, size_t align, uintptr_t tag), DEL_AL_NT)                                       \
	X(OPERATOR,, _ZdaPvSt11align_val_tRKSt9nothrow_t, void,                                    \
	  (void *p, size_t align, uintptr_t tag), DEL_ARRAY_AL_NT)

/* The others': hooks/reals.c. Types that not all systems' headers declare are plain here. */
#define PROCESS_NAMES(X)                                                                           \
	X(LEFT,, dlopen, void *, (const char *file, int mode))                                     \
	X(LEFT,, dlmopen, void *, (long ns, const char *file, int mode))                           \
	X(LEFT,, dlclose, int, (void *handle))                                                     \
	X(REAL,, fork, pid_t, (void))                                                              \
	X(REAL,, daemon, int, (int no_chdir, int no_close))                                        \
	X(WRAP,, _exit, void, (int status))                                                        \
	X(WRAP,, _Exit, void, (int status))                                                        \
	X(LEFT,, quick_exit, void, (int status))                                                   \
	X(LEFT,, abort, void, (void))                                                              \
	X(REAL,, prctl, int, (int option, ...))                                                    \
	X(REAL,, unshare, int, (int flags))                                                        \
	X(REAL,, pthread_setname_np, int, (pthread_t thread, const char *name))                    \
	X(WRAP,, execve, int, (const char *path, char *const *argv, char *const *envp))            \
	X(REAL,, execvpe, int, (const char *file, char *const *argv, char *const *envp))           \
	X(REAL,, fexecve, int, (int fd, char *const *argv, char *const *envp))                     \
	X(WRAP,, execveat, int,                                                                    \
	  (int dir, const char *path, char *const *argv, char *const *envp, int flags))            \
	X(LEFT,, posix_spawn, int,                                                                 \
	  (int *pid, const char *path, const void *actions, const void *attributes,                \
	   char *const *argv, char *const *envp))                                                  \
	X(LEFT,, posix_spawnp, int,                                                                \
	  (int *pid, const char *file, const void *actions, const void *attributes,                \
	   char *const *argv, char *const *envp))                                                  \
	X(LEFT,, system, int, (const char *command))                                               \
	X(LEFT,, popen, void *, (const char *command, const char *mode))                           \
	X(LEFT,, wordexp, int, (const char *text, void *words, int flags))                         \
	X(LEFT,, setenv, int, (const char *name, const char *value, int replace))                  \
	X(LEFT,, unsetenv, int, (const char *name))                                                \
	X(LEFT,, putenv, int, (char *entry))                                                       \
	X(LEFT,, clearenv, int, (void))

/* ... whose real function is only called where it is not the C library's: process/exec.c. */
#define PROCESS_FOREIGN_NAMES(X)                                                                   \
	X(WRAP,, execv, int, (const char *path, char *const *argv))                                \
	X(WRAP,, execvp, int, (const char *file, char *const *argv))                               \
	X(WRAP,, execl, int, (const char *path, const char *first, ...))                           \
	X(WRAP,, execlp, int, (const char *file, const char *first, ...))                          \
	X(WRAP,, execle, int, (const char *path, const char *first, ...))

/* In which a process waits, split in two parts when that is long: process/wait.c makes the hooks.
 * Last column: the arguments. */
#define TIMED_NAMES(X)                                                                             \
	X(REAL,, poll, int, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms))                  \
	X(REAL,, ppoll, int,                                                                       \
	  (struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *m),             \
	  (fds, n, t, m))                                                                          \
	X(REAL,, epoll_wait, int, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))  \
	X(REAL,, epoll_pwait, int,                                                                 \
	  (int fd, struct epoll_event *e, int n, int ms, const sigset_t *m), (fd, e, n, ms, m))    \
	X(REAL,, select, int, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t),         \
	  (n, r, w, e, t))                                                                         \
	X(REAL,, pselect, int,                                                                     \
	  (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *m),   \
	  (n, r, w, e, t, m))                                                                      \
	X(REAL,, sleep, unsigned, (unsigned seconds), (seconds))                                   \
	X(REAL,, usleep, int, (useconds_t us), (us))                                               \
	X(REAL,, nanosleep, int, (const struct timespec *t, struct timespec *rest), (t, rest))     \
	X(REAL,, clock_nanosleep, int,                                                             \
	  (clockid_t c, int f, const struct timespec *t, struct timespec *rest), (c, f, t, rest))  \
	X(REAL,, sigsuspend, int, (const sigset_t *mask), (mask))                                  \
	X(REAL,, sigwait, int, (const sigset_t *mask, int *sig), (mask, sig))

/* ... only checked before the call. sys/socket.h would make accept's address a union. */
#define UNTIMED_NAMES(X)                                                                           \
	X(REAL,, accept, int, (int fd, void *addr, unsigned *len), (fd, addr, len))                \
	X(REAL,, accept4, int, (int fd, void *addr, unsigned *len, int flags),                     \
	  (fd, addr, len, flags))                                                                  \
	X(REAL,, read, ssize_t, (int fd, void *to, size_t n), (fd, to, n))                         \
	X(REAL,, recv, ssize_t, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))       \
	X(REAL,, recvfrom, ssize_t,                                                                \
	  (int fd, void *to, size_t n, int flags, void *addr, unsigned *len),                      \
	  (fd, to, n, flags, addr, len))                                                           \
	X(REAL,, recvmsg, ssize_t, (int fd, void *msg, int flags), (fd, msg, flags))

/* ... with a hook written out: process/wait.c, process/reap.c. */
#define WAIT_NAMES(X)                                                                              \
	X(REAL,, pause, int, (void))                                                               \
	X(REAL,, wait, pid_t, (int *status))                                                       \
	X(REAL,, waitpid, pid_t, (pid_t pid, int *status, int flags))                              \
	X(REAL, WEAK, wait3, pid_t, (int *status, int flags, void *usage))                         \
	X(REAL,, wait4, pid_t, (pid_t pid, int *status, int flags, void *usage))                   \
	X(REAL,, waitid, int, (int type, unsigned id, void *info, int flags))

/* Not hooked. */
#define CALLED_NAMES(X)                                                                            \
	X(NONE,, sigtimedwait, int,                                                                \
	  (const sigset_t *mask, siginfo_t *info, const struct timespec *t))
#define JEMALLOC_CALLED_NAMES(X) X(NONE, WEAK, nallocx, size_t, (size_t n, int flags))

#define HOOKED(X)                                                                                  \
	HEAP_NAMES(X) HEAP_FOREIGN_NAMES(X) JEMALLOC_NAMES(X) NEW_NAMES(X) DELETE_NAMES(X)         \
	PROCESS_NAMES(X) PROCESS_FOREIGN_NAMES(X) TIMED_NAMES(X) UNTIMED_NAMES(X) WAIT_NAMES(X)
/* clang-format on */

/* A member of a table of real functions. */
#define NAMES_MEMBER(linked, weak, name, result, parameters, ...) result(*name) parameters;

#endif
