/* SPDX-License-Identifier: MIT
 *
 * s_each_hook.cc COUNTS NAME... - makes one call of each function NAME that the agent hooks, and
 * prints which counters of the file COUNTS (of a library in front of the C library) moved
 * meanwhile, a line a call: NAME number+times... A call that ends its process or executes another
 * program is made in a child: a forked one, or with "vfork NAME" one of vfork. Without arguments:
 * nothing, status 0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#define ROOM 4096
#define COUNTERS (ROOM / sizeof(long))

extern "C" {
void cfree(void *) __attribute__((weak));
void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);
}

static const char *self;
static char *const args[] = { (char *)"s_each_hook", NULL };
static int idle, done[2]; /* a socket with a byte that stays; a pipe that ended */
static struct timespec soon = { 0, 1000 };
static struct timeval now = { 0, 0 };

#define IS(name) (!strcmp(what, name))

static bool executes(const char *what)
{
	if (IS("execve"))
		execve(self, args, environ);
	else if (IS("execv"))
		execv(self, args);
	else if (IS("execvp"))
		execvp(self, args);
	else if (IS("execvpe"))
		execvpe(self, args, environ);
	else if (IS("execl"))
		execl(self, args[0], (char *)NULL);
	else if (IS("execlp"))
		execlp(self, args[0], (char *)NULL);
	else if (IS("execle"))
		execle(self, args[0], (char *)NULL, environ);
	else if (IS("fexecve"))
		fexecve(open(self, O_RDONLY | O_CLOEXEC), args, environ);
	else if (IS("execveat"))
		execveat(AT_FDCWD, self, args, environ, 0);
	else
		return false;
	return true;
}

static bool ends(const char *what)
{
	if (IS("_exit"))
		_exit(0);
	else if (IS("_Exit"))
		_Exit(0);
	else if (IS("quick_exit"))
		quick_exit(0);
	else if (IS("abort"))
		abort();
	else if (IS("daemon"))
		daemon(1, 1);
	else
		return executes(what);
	return true;
}

/* Ends without a call that is counted. */
static void leave(void)
{
	kill(getpid(), SIGKILL);
}

static bool in_child(const char *what, bool shared)
{
	static const char *const all[] = { "execve", "execv",      "execvp",  "execvpe",  "execl",
					   "execlp", "execle",     "fexecve", "execveat", "_exit",
					   "_Exit",  "quick_exit", "abort",   "daemon" };
	bool listed = false;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		listed |= IS(all[i]);
	if (!listed)
		return false;
	pid_t pid = shared ? vfork() : fork();
	if (!pid) {
		ends(what);
		leave();
	}
	int status;
	wait4(pid, &status, 0, NULL);
	return true;
}

static void *volatile kept;

static bool allocates(const char *what)
{
	kept = malloc(24);
	void *p = kept;

	if (IS("malloc"))
		kept = p;
	else if (IS("free"))
		free(p);
	else if (IS("calloc"))
		kept = calloc(1, 24);
	else if (IS("realloc"))
		kept = realloc(p, 48);
	else if (IS("reallocarray"))
		kept = reallocarray(p, 2, 24);
	else if (IS("posix_memalign"))
		posix_memalign(&p, 64, 24);
	else if (IS("aligned_alloc"))
		kept = aligned_alloc(64, 64);
	else if (IS("memalign"))
		kept = memalign(64, 24);
	else if (IS("valloc"))
		kept = valloc(24);
	else if (IS("pvalloc"))
		kept = pvalloc(24);
	else if (IS("cfree"))
		cfree(p);
	else if (IS("free_sized"))
		free_sized(p, 24);
	else if (IS("free_aligned_sized"))
		free_aligned_sized(p, 16, 24);
	else if (IS("malloc_usable_size"))
		malloc_usable_size(p);
	else
		return false;
	return true;
}

static bool operates(const char *what)
{
	const std::align_val_t al = std::align_val_t(64);
	kept = malloc(64);
	void *p = kept;

	if (IS("_Znwm"))
		kept = ::operator new(24);
	else if (IS("_Znam"))
		kept = ::operator new[](24);
	else if (IS("_ZnwmRKSt9nothrow_t"))
		kept = ::operator new(24, std::nothrow);
	else if (IS("_ZnamRKSt9nothrow_t"))
		kept = ::operator new[](24, std::nothrow);
	else if (IS("_ZnwmSt11align_val_t"))
		kept = ::operator new(24, al);
	else if (IS("_ZnamSt11align_val_t"))
		kept = ::operator new[](24, al);
	else if (IS("_ZnwmSt11align_val_tRKSt9nothrow_t"))
		kept = ::operator new(24, al, std::nothrow);
	else if (IS("_ZnamSt11align_val_tRKSt9nothrow_t"))
		kept = ::operator new[](24, al, std::nothrow);
	else if (IS("_ZdlPv"))
		::operator delete(p);
	else if (IS("_ZdaPv"))
		::operator delete[](p);
	else if (IS("_ZdlPvm"))
		::operator delete(p, size_t(64));
	else if (IS("_ZdaPvm"))
		::operator delete[](p, size_t(64));
	else if (IS("_ZdlPvRKSt9nothrow_t"))
		::operator delete(p, std::nothrow);
	else if (IS("_ZdaPvRKSt9nothrow_t"))
		::operator delete[](p, std::nothrow);
	else if (IS("_ZdlPvSt11align_val_t"))
		::operator delete(p, al);
	else if (IS("_ZdaPvSt11align_val_t"))
		::operator delete[](p, al);
	else if (IS("_ZdlPvmSt11align_val_t"))
		::operator delete(p, size_t(64), al);
	else if (IS("_ZdaPvmSt11align_val_t"))
		::operator delete[](p, size_t(64), al);
	else if (IS("_ZdlPvSt11align_val_tRKSt9nothrow_t"))
		::operator delete(p, al, std::nothrow);
	else if (IS("_ZdaPvSt11align_val_tRKSt9nothrow_t"))
		::operator delete[](p, al, std::nothrow);
	else
		return false;
	return true;
}

static bool starts(const char *what)
{
	pid_t pid = 0;
	wordexp_t words;

	if (IS("fork")) {
		pid = fork();
		if (!pid)
			leave();
		wait4(pid, NULL, 0, NULL);
	} else if (IS("posix_spawn")) {
		posix_spawn(&pid, self, NULL, NULL, args, environ);
		wait4(pid, NULL, 0, NULL);
	} else if (IS("posix_spawnp")) {
		posix_spawnp(&pid, self, NULL, NULL, args, environ);
		wait4(pid, NULL, 0, NULL);
	} else if (IS("system")) {
		system(":");
	} else if (IS("popen")) {
		pclose(popen(":", "r"));
	} else if (IS("wordexp")) {
		wordexp("a $(:)", &words, 0);
	} else if (IS("setenv")) {
		setenv("EACH_HOOK", "1", 1);
	} else if (IS("unsetenv")) {
		unsetenv("EACH_HOOK");
	} else if (IS("putenv")) {
		putenv((char *)"EACH_HOOK=2");
	} else if (IS("prctl")) {
		prctl(PR_SET_NAME, "each_hook");
	} else if (IS("unshare")) {
		unshare(0);
	} else if (IS("pthread_setname_np")) {
		pthread_setname_np(pthread_self(), "each_hook");
	} else if (IS("dlopen") || IS("dlclose")) {
		dlclose(dlopen("libm.so.6", RTLD_NOW));
	} else if (IS("dlmopen")) {
		dlmopen(LM_ID_BASE, "libm.so.6", RTLD_NOW);
	} else if (IS("__cyg_profile_func_enter")) {
		__cyg_profile_func_enter((void *)starts, (void *)executes);
	} else if (IS("__cyg_profile_func_exit")) {
		__cyg_profile_func_exit((void *)starts, (void *)executes);
	} else if (IS("clearenv")) {
		static char *mine[1000]; /* clearenv() may free the array that is in use */
		for (size_t i = 0; i < 999 && environ[i]; i++)
			mine[i] = environ[i];
		environ = mine;
		clearenv();
		environ = mine;
	} else {
		return false;
	}
	return true;
}

static bool reads(const char *what)
{
	char byte;
	struct iovec to = { &byte, 1 };
	struct msghdr msg = {};
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);

	msg.msg_iov = &to;
	msg.msg_iovlen = 1;
	if (IS("read"))
		read(done[0], &byte, 1);
	else if (IS("recv"))
		recv(idle, &byte, 1, MSG_PEEK);
	else if (IS("recvfrom"))
		recvfrom(idle, &byte, 1, MSG_PEEK, (struct sockaddr *)&from, &size);
	else if (IS("recvmsg"))
		recvmsg(idle, &msg, MSG_PEEK);
	else if (IS("accept"))
		accept(idle, NULL, NULL);
	else if (IS("accept4"))
		accept4(idle, NULL, NULL, 0);
	else if (IS("wait"))
		wait(NULL); /* there is no child */
	else if (IS("waitpid"))
		waitpid(-1, NULL, WNOHANG);
	else if (IS("wait3"))
		wait3(NULL, WNOHANG, NULL);
	else if (IS("wait4"))
		wait4(-1, NULL, WNOHANG, NULL);
	else if (IS("waitid"))
		waitid(P_ALL, 0, NULL, WNOHANG | WEXITED);
	else
		return false;
	return true;
}

static void on_alarm(int) {}

static bool waits(const char *what)
{
	struct pollfd fd = { idle, POLLIN, 0 };
	struct epoll_event event;
	sigset_t none, alarm_only;
	int number;

	sigemptyset(&none);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	signal(SIGALRM, on_alarm);
	if (IS("poll")) {
		poll(&fd, 1, 0);
	} else if (IS("ppoll")) {
		ppoll(&fd, 1, &soon, NULL);
	} else if (IS("epoll_wait")) {
		epoll_wait(epoll_create1(0), &event, 1, 0);
	} else if (IS("epoll_pwait")) {
		epoll_pwait(epoll_create1(0), &event, 1, 0, NULL);
	} else if (IS("select")) {
		select(0, NULL, NULL, NULL, &now);
	} else if (IS("pselect")) {
		pselect(0, NULL, NULL, NULL, &soon, NULL);
	} else if (IS("sleep")) {
		sleep(0);
	} else if (IS("usleep")) {
		usleep(1);
	} else if (IS("nanosleep")) {
		nanosleep(&soon, NULL);
	} else if (IS("clock_nanosleep")) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL);
	} else if (IS("pause")) { /* the signal comes again and again, until it has returned */
		struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = {};
		setitimer(ITIMER_REAL, &often, NULL);
		pause();
		setitimer(ITIMER_REAL, &never, NULL);
	} else if (IS("sigsuspend") || IS("sigwait")) {
		sigprocmask(SIG_BLOCK, &alarm_only, NULL);
		raise(SIGALRM);
		if (IS("sigwait"))
			sigwait(&alarm_only, &number);
		else
			sigsuspend(&none);
		sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	} else {
		return false;
	}
	return true;
}

static bool call(const char *what, bool shared)
{
	return in_child(what, shared) || allocates(what) || operates(what) || starts(what) ||
	       reads(what) || waits(what);
}

int main(int argc, char **argv)
{
	int pair[2], fd;

	if (argc < 2)
		return 0;
	self = argv[0];
	unsetenv("COUNTS"); /* what it executes is not counted */
	fd = open(argv[1], O_RDWR);
	const volatile long *counts =
		(const volatile long *)mmap(NULL, ROOM, PROT_READ, MAP_SHARED, fd, 0);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	idle = pair[0];
	write(pair[1], "x", 1);
	pipe(done);
	close(done[1]);
	for (int i = 2; i < argc; i++) {
		static long before[COUNTERS], after[COUNTERS];
		bool shared = !strncmp(argv[i], "vfork ", 6);
		memcpy(before, (const void *)counts, ROOM);
		bool known = call(argv[i] + (shared ? 6 : 0), shared);
		memcpy(after, (const void *)counts, ROOM);
		printf("%s", argv[i]);
		for (size_t k = 0; k < COUNTERS; k++)
			if (before[k] != after[k])
				printf(" %zu+%ld", k, after[k] - before[k]);
		printf(known ? "\n" : " unknown\n");
		fflush(stdout);
	}
	return 0;
}
