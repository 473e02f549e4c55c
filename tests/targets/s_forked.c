/* SPDX-License-Identifier: MIT
 *
 * s_forked.c - what a hook may still do in a forked child.
 *
 *   held HOW CALL   forks as HOW says (fork, _Fork, clone, vfork) while another thread is inside
 *                   the loader, whose locks the child then holds for good, and makes that call in
 *                   the child. Prints "CALL STATUS".
 *   calls           tells tests/lib/count_lookups.c that the start is over, and then makes every
 *                   call that has a hook: here, in a thread, in a signal handler, in a child of
 *                   each kind. Prints "called".
 */
#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

extern void count_lookups_begin(void) __attribute__((weak));
extern void cfree(void *) __attribute__((weak));
extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
extern pid_t _Fork(void) __attribute__((weak));

static int inside[2], leave[2]; /* pipes: a thread is in the loader; it may go on */

static void allocates(void)
{
	void *p = malloc(100), *volatile q = calloc(10, 10);

	free(q);
	p = reallocarray(realloc(p, 5000), 3, 1000);
	EXPECT(malloc_usable_size(p) >= 3000);
	free(p);
	EXPECT(!posix_memalign(&p, 64, 100));
	free(p);
	free(aligned_alloc(64, 128));
	free(memalign(64, 100));
	free(valloc(100));
	free(pvalloc(100));
	if (cfree)
		cfree(malloc(1));
	if (free_sized)
		free_sized(malloc(1), 1);
	if (free_aligned_sized)
		free_aligned_sized(aligned_alloc(64, 64), 64, 64);
}

static void nothing(int sig)
{
	(void)sig;
}

/* A timer ends those that wait for a signal. */
static void waits_for_signals(void)
{
	struct itimerval soon = { { 0, 10000 }, { 0, 10000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = nothing };
	sigset_t none, one;
	int sig;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	EXPECT(pause() == -1 && errno == EINTR);
	sigemptyset(&none);
	EXPECT(sigsuspend(&none) == -1 && errno == EINTR);
	sigemptyset(&one);
	sigaddset(&one, SIGALRM);
	sigprocmask(SIG_BLOCK, &one, NULL);
	EXPECT(!sigwait(&one, &sig) && sig == SIGALRM);
	setitimer(ITIMER_REAL, &never, NULL);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void waits(void)
{
	struct timespec zero = { 0, 0 };
	struct timeval none = { 0, 0 };
	struct epoll_event event;
	int epoll = epoll_create1(0), status;
	char byte;

	poll(NULL, 0, 0);
	ppoll(NULL, 0, &zero, NULL);
	EXPECT(!epoll_wait(epoll, &event, 1, 0) && !epoll_pwait(epoll, &event, 1, 0, NULL));
	close(epoll);
	select(0, NULL, NULL, NULL, &none);
	pselect(0, NULL, NULL, NULL, &zero, NULL);
	EXPECT(accept(-1, NULL, NULL) == -1 && accept4(-1, NULL, NULL, 0) == -1);
	EXPECT(read(-1, &byte, 1) == -1 && recv(-1, &byte, 1, 0) == -1);
	EXPECT(recvfrom(-1, &byte, 1, 0, NULL, NULL) == -1 && recvmsg(-1, NULL, 0) == -1);
	EXPECT(waitpid(1, &status, WNOHANG) == -1 && wait(&status) == -1);
	EXPECT(wait3(&status, WNOHANG, NULL) == -1 && wait4(-1, &status, WNOHANG, NULL) == -1);
	EXPECT(waitid(P_ALL, 0, NULL, WNOHANG | WEXITED) == -1);
	sleep(0);
	usleep(0);
	nanosleep(&zero, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &zero, NULL);
}

static void names_and_rights(void)
{
	char name[16];

	EXPECT(!prctl(PR_GET_NAME, name, 0, 0, 0) && !prctl(PR_SET_NAME, name, 0, 0, 0));
	EXPECT(!unshare(0));
	EXPECT(!pthread_setname_np(pthread_self(), "named"));
}

/* All of them fail, and come back. */
static void executes_nothing(void)
{
	static char *args[] = { "none", NULL }, *env[] = { "TAG=1", NULL };
	static const char none[] = "/nowhere/at/all";

	execve(none, args, env);
	execv(none, args);
	execvp(none, args);
	execvp("no-such-program-at-all", args);
	execvpe(none, args, env);
	execl(none, "none", NULL);
	execlp(none, "none", NULL);
	execle(none, "none", NULL, env);
	fexecve(-1, args, env);
	execveat(-1, none, args, env, 0);
	EXPECT(posix_spawn(NULL, none, NULL, NULL, args, env) &&
	       posix_spawnp(NULL, none, NULL, NULL, args, env));
}

/* Children that libc makes. */
static void spawns(void)
{
	static char *args[] = { "true", NULL }, *env[] = { "PATH=/bin:/usr/bin", NULL };
	int status;
	pid_t pid;
	wordexp_t words;
	FILE *f;

	EXPECT(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, env) &&
	       waitpid(pid, &status, 0) == pid && !status);
	EXPECT(!posix_spawnp(&pid, "true", NULL, NULL, args, env) &&
	       waitpid(pid, &status, 0) == pid && !status);
	EXPECT(system("exit 3") == 3 << 8);
	f = popen("exit 4", "r");
	EXPECT(f && pclose(f) == 4 << 8);
	EXPECT(!wordexp("$(echo one two)", &words, 0) && words.we_wordc == 2);
	wordfree(&words);
	EXPECT(!setenv("ADDED", "1", 1) && !putenv("PUT=2") && !unsetenv("ADDED") &&
	       !getenv("ADDED") && getenv("PUT"));
	EXPECT(!clearenv() && !getenv("PUT") && !system("exit 0"));
}

/* ... or replace the process by one that ends with 0. */
static void executes(const char *call)
{
	static char *args[] = { "true", NULL }, *env[] = { "PATH=/bin:/usr/bin", NULL };

	if (!strcmp(call, "execve"))
		execve("/bin/true", args, env);
	if (!strcmp(call, "execv"))
		execv("/bin/true", args);
	if (!strcmp(call, "execvp"))
		execvp("true", args);
	if (!strcmp(call, "execvpe"))
		execvpe("true", args, env);
	if (!strcmp(call, "execl"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(call, "execlp"))
		execlp("true", "true", NULL);
	if (!strcmp(call, "execle"))
		execle("/bin/true", "true", NULL, env);
	if (!strcmp(call, "fexecve"))
		fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), args, env);
	if (!strcmp(call, "execveat"))
		execveat(AT_FDCWD, "/bin/true", args, env, 0);
	if (!strcmp(call, "_Exit"))
		_Exit(0);
	if (!strcmp(call, "quick_exit"))
		quick_exit(0);
	if (!strcmp(call, "abort"))
		abort();
}

static void forks(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		allocates();
		_exit(daemon(1, 1));
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
}

/* What a child may do: no dlopen, which takes the loader's locks by itself. */
static void child_calls(const char *call)
{
	executes(call);
	if (!strcmp(call, "allocate"))
		allocates();
	else if (!strcmp(call, "wait"))
		waits();
	else if (!strcmp(call, "signals"))
		waits_for_signals();
	else if (!strcmp(call, "name"))
		names_and_rights();
	else if (!strcmp(call, "fail"))
		executes_nothing();
	else if (!strcmp(call, "fork"))
		forks();
	else if (!strcmp(call, "spawn"))
		spawns();
	else if (!strcmp(call, "wake"))
		EXPECT(!sleep(3)); /* it becomes a session of its own within that time */
	else
		_exit(9);
	_exit(0);
}

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	char byte;

	(void)info;
	(void)size;
	(void)arg;
	EXPECT(write(inside[1], "", 1) == 1);
	return read(leave[0], &byte, 1) == 1;
}

static void *in_the_loader(void *arg)
{
	dl_iterate_phdr(stay, NULL);
	return arg;
}

static pid_t fork_as(const char *how)
{
	if (!strcmp(how, "_Fork"))
		return _Fork ? _Fork() : fork();
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	return fork();
}

static int held(const char *how, const char *call)
{
	pthread_t t;
	char byte;
	int status = -1;

	EXPECT(!pipe(inside) && !pipe(leave));
	free(malloc(1));
	EXPECT(!pthread_create(&t, NULL, in_the_loader, NULL));
	EXPECT(read(inside[0], &byte, 1) == 1);
	pid_t pid = !strcmp(how, "vfork") ? vfork() : fork_as(how);
	if (!pid)
		child_calls(call);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	EXPECT(write(leave[1], "", 1) == 1 && !pthread_join(t, NULL));
	printf("%s %d\n", call, status);
	return 0;
}

static void in_handler(int sig)
{
	(void)sig;
	allocates();
	executes_nothing();
	waits();
}

static void *in_thread(void *arg)
{
	allocates();
	names_and_rights();
	executes_nothing();
	waits();
	return arg;
}

static void loads(void)
{
	void *h = dlopen("libm.so.6", RTLD_NOW);

	EXPECT(h && !dlclose(h));
	h = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
	EXPECT(h && !dlclose(h));
}

static int calls(void)
{
	static const char *const of_children[] = { "allocate",   "wait",    "signals",  "name",
						   "fail",       "fork",    "execve",   "execv",
						   "execvp",     "execvpe", "execl",    "execlp",
						   "execle",     "fexecve", "execveat", "_Exit",
						   "quick_exit", "spawn" };
	static const char *const kinds[] = { "fork", "_Fork", "clone" };
	pthread_t t;

	free(malloc(1));
	if (count_lookups_begin)
		count_lookups_begin();
	in_thread(NULL);
	waits_for_signals();
	loads();
	EXPECT(!pthread_create(&t, NULL, in_thread, NULL) && !pthread_join(t, NULL));
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
	forks();
	spawns();
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; i < sizeof of_children / sizeof *of_children; i++) {
			int status = -1;
			pid_t pid = fork_as(kinds[k]);
			if (!pid)
				child_calls(of_children[i]);
			EXPECT(waitpid(pid, &status, 0) == pid && !status);
		}
	printf("called\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "held"))
		return held(argv[2], argv[3]);
	return argc == 2 && !strcmp(argv[1], "calls") ? calls() : 2;
}
