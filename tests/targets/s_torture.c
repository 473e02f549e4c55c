/* SPDX-License-Identifier: MIT
 *
 * s_torture.c - programs' worst treatment of an agent, one mode each. A mode checks the effects
 * that the program itself can see, and frees all of its allocations.
 */
#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_bool stop;

static void churn(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		void *p = malloc(i * 37 % 3000);
		p = realloc(p, i % 77 * 50 + 1);
		free(p);
	}
}

static void *churn_thread(void *arg)
{
	while (!atomic_load(&stop))
		churn(100);
	return arg;
}

static void expect_exit(pid_t pid, int code)
{
	int status;

	EXPECT(pid > 0);
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static pid_t spawned(void)
{
	char *args[] = { "true", NULL };
	pid_t pid;

	EXPECT(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ));
	return pid;
}

/* Forks of all kinds while other threads are in the middle of allocations. */
static void storm(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		EXPECT(!pthread_create(&t[i], NULL, churn_thread, NULL));
	for (int i = 0; i < 150; i++) {
		pid_t pid = i % 3 == 0 ? fork() : i % 3 == 1 ? _Fork() : vfork();
		if (pid == 0) {
			if (i % 3 == 0)
				churn(50);
			_exit(i % 7);
		}
		expect_exit(pid, i % 7);
		if (i % 10 == 0)
			expect_exit(spawned(), 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	atomic_store(&stop, false);
}

static void *nothing(void *arg)
{
	free(malloc(100));
	return malloc(10 + (uintptr_t)arg % 10);
}

/* Many threads at once, all alive. */
static pthread_barrier_t all_here;
static void *stand(void *arg)
{
	void *p = nothing(arg);

	pthread_barrier_wait(&all_here);
	return p;
}

static void crowd(int n)
{
	pthread_t *t = malloc((size_t)n * sizeof(*t));
	pthread_attr_t attr;
	void *p;
	int made = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&all_here, NULL, (unsigned)n);
	for (; made < n; made++)
		if (pthread_create(&t[made], &attr, stand, (void *)(intptr_t)made))
			break;
	EXPECT(made == n);
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], &p);
		free(p);
	}
	free(t);
}

/* Threads that met a handful of stacks, and sleep; says so, and waits for the end of stdin. */
static __attribute__((noinline)) void *deeper(unsigned depth, size_t n)
{
	void *volatile p = depth ? deeper(depth - 1, n) : malloc(n);

	return p;
}

static void *rest(void *arg)
{
	for (unsigned site = 0; site < 6; site++)
		for (int i = 0; i < 20; i++)
			free(deeper(site * 3, 100 + site));
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_here);
	return arg;
}

static void resting(int n)
{
	pthread_t *t = malloc((size_t)n * sizeof(*t));
	char byte;

	pthread_barrier_init(&all_here, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		EXPECT(!pthread_create(&t[i], NULL, rest, NULL));
	pthread_barrier_wait(&all_here);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
}

static void short_threads(int n)
{
	pthread_t t;
	void *p;

	for (int i = 0; i < n; i++) {
		EXPECT(!pthread_create(&t, NULL, nothing, (void *)(intptr_t)i));
		pthread_join(t, &p);
		free(p);
	}
}

/* Handlers that allocate, on their own stack, and some that never return. */
static sigjmp_buf back;
static volatile sig_atomic_t jumps, hits;

static void on_alarm(int sig)
{
	(void)sig;
	hits++;
}

static void on_jump(int sig)
{
	(void)sig;
	jumps++;
	siglongjmp(back, 1);
}

static void on_usr(int sig)
{
	(void)sig;
	void *p = malloc(333);
	free(p);
	hits++;
}

static void handlers(void)
{
	stack_t alt = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction sa = { .sa_handler = on_usr, .sa_flags = SA_ONSTACK };

	EXPECT(!sigaltstack(&alt, NULL));
	EXPECT(!sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < 2000; i++) {
		void *p = malloc(64);
		raise(SIGUSR1);
		free(p);
	}
	sa.sa_handler = on_jump;
	EXPECT(!sigaction(SIGUSR2, &sa, NULL));
	for (volatile int i = 0; i < 2000; i++)
		if (!sigsetjmp(back, 1))
			raise(SIGUSR2);
		else
			churn(2);
	EXPECT(jumps == 2000);
	alt.ss_flags = SS_DISABLE;
	void *was = alt.ss_sp;
	sigaltstack(&alt, NULL);
	free(was);
}

/* A timer at 5 kHz while blocks come and go: interrupted everywhere, the agent too. */
static void timer_storm(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval it = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };

	EXPECT(!sigaction(SIGPROF, &sa, NULL));
	EXPECT(!setitimer(ITIMER_PROF, &it, NULL));
	churn(400000);
	setitimer(ITIMER_PROF, &off, NULL);
}

/* Coroutines on heap and mmap stacks, that allocate, switch, and are unmapped in mid-life. */
#define COS 16
static ucontext_t co_main, co[COS];
static void co_body(int n)
{
	void *held = NULL;

	for (int i = 0; i < 200; i++) {
		free(held);
		held = malloc((size_t)(n * 10 + i % 50));
		swapcontext(&co[n], &co_main);
	}
	free(held);
	for (;;)
		swapcontext(&co[n], &co_main);
}

static void coroutines(void)
{
	char *stack[COS];

	for (int i = 0; i < COS; i++) {
		stack[i] = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		getcontext(&co[i]);
		co[i].uc_stack.ss_sp = stack[i];
		co[i].uc_stack.ss_size = 65536;
		makecontext(&co[i], (void (*)(void))co_body, 1, i);
	}
	for (int r = 0; r < 202; r++)
		for (int i = 0; i < COS; i++)
			swapcontext(&co_main, &co[i]);
	for (int i = 0; i < COS; i++) {
		munmap(stack[i], 65536);
		churn(10);
	}
}

/* Exec in all forms that fail, then go on; in a vfork child, too. */
static void failing_exec(void)
{
	char *args[] = { "x", NULL }, *env[] = { "A=1", NULL };
	char **volatile bad = (char **)8;

	for (int i = 0; i < 3; i++) {
		EXPECT(execve("/no/such", args, env) == -1 && errno == ENOENT);
		EXPECT(execv("/etc/passwd", args) == -1 && errno == EACCES);
		EXPECT(execvp("no-such-thing-anywhere", args) == -1 && errno == ENOENT);
		EXPECT(execl("/no/such", "x", (char *)NULL) == -1 && errno == ENOENT);
		EXPECT(execlp("no-such-thing-anywhere", "x", (char *)NULL) == -1 &&
		       errno == ENOENT);
		EXPECT(execle("/no/such", "x", (char *)NULL, env) == -1 && errno == ENOENT);
		EXPECT(execveat(AT_FDCWD, "/no/such", args, env, 0) == -1 && errno == ENOENT);
		EXPECT(fexecve(-1, args, env) == -1);
		EXPECT(execve("/bin/true", bad, env) == -1 && errno == EFAULT);
		pid_t pid = vfork();
		if (pid == 0) {
			execvp("no-such-thing-anywhere", args);
			_exit(12);
		}
		expect_exit(pid, 12);
		churn(20);
	}
}

static int in_clone(void *arg)
{
	(void)arg;
	churn(30);
	return 9;
}

/* Shared memory, no thread: allocates in our heap and ends by itself. */
static void clone_vm(void)
{
	static char stack[65536] __attribute__((aligned(64)));

	for (int i = 0; i < 100; i++) {
		int status;
		pid_t pid = clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
				  NULL);
		EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 9);
	}
}

/* Frees in key destructors of the last round, and thread_local's. */
static pthread_key_t key;
static void destroy(void *value)
{
	static __thread int rounds;

	free(value);
	if (rounds++ < 3)
		pthread_setspecific(key, malloc(50));
}
static void *with_key(void *arg)
{
	pthread_setspecific(key, malloc(40));
	return arg;
}
static void late_ends(void)
{
	pthread_t t;

	pthread_key_create(&key, destroy);
	for (int i = 0; i < 300; i++) {
		EXPECT(!pthread_create(&t, NULL, with_key, NULL));
		pthread_join(t, NULL);
	}
}

static void limits(void)
{
	struct rlimit now;
	char statm[64] = "";
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	EXPECT(f && fgets(statm, sizeof(statm), f));
	fclose(f);
	sscanf(statm, "%lu", &pages);
	now.rlim_cur = now.rlim_max = pages * 4096 + (16ul << 20);
	EXPECT(!setrlimit(RLIMIT_AS, &now));
	void *big = malloc(1ul << 30);
	EXPECT(!big);
	for (int i = 0; i < 200; i++)
		churn(20);
	/* until nothing is left, then all back */
	void **chain = NULL, **p;
	size_t n = 0;
	while ((p = malloc(4000)) && ++n < 100000) {
		*p = chain;
		chain = p;
	}
	EXPECT(n > 100);
	while (chain) {
		p = *chain;
		free(chain);
		chain = p;
	}
	churn(1000);
}

#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2 /* 32-bit machines */
#endif
#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* A filter that not even getpid passes, installed past any hook; then a fork, and ends by _exit. */
static void sealed(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_madvise),
		ALLOW(SYS_mremap),
		ALLOW(SYS_brk),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_clone),
		ALLOW(SYS_set_robust_list),
		ALLOW(SYS_rseq),
		ALLOW(SYS_wait4),
		ALLOW(SYS_write),
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 41)
		ALLOW(SYS_rt_sigprocmask), /* its fork() keeps abort() out */
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	free(malloc(1)); /* the first asks for random bytes */
	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EXPECT(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	churn(1000);
	pid_t pid = fork();
	if (pid == 0) {
		churn(1000);
		_exit(5);
	}
	expect_exit(pid, 5);
	_exit(0);
}

/* A server's steps to an unprivileged user; later allocations are counted and shown. */
static void stripped(void)
{
	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	EXPECT(!unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
	/* nothing of ours can be opened there */
	EXPECT(!chdir("/proc/self/fdinfo") && !chroot("."));
	EXPECT(!syscall(SYS_close_range, 0, ~0u, 0));
	EXPECT(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
	       !setresuid(65534, 65534, 65534));
	EXPECT(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	churn(1000);
	pid_t pid = fork();
	if (pid == 0) {
		churn(1000);
		_exit(3);
	}
	expect_exit(pid, 3);
}

/* Installs a filter that forbids sockets, in one of three ways, and becomes another program. */
static void without_sockets(const char *how, char **program)
{
	unsigned action = !strcmp(how, "kill")   ? SECCOMP_RET_KILL_PROCESS
			  : !strcmp(how, "trap") ? SECCOMP_RET_TRAP
						 : SECCOMP_RET_ERRNO | EACCES;
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rules) / sizeof(rules[0]), rules };

	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
	execv(program[0], program);
	EXPECT(!"executed");
}

/* A library that is loaded, used and unloaded again and again, another in its place, while threads
 * allocate. */
static void plugins(const char *one, const char *other)
{
	const char *path[] = { one, other };
	void *at[2] = { NULL, NULL };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		EXPECT(!pthread_create(&t[i], NULL, churn_thread, NULL));
	for (int i = 0; i < 200; i++) {
		void *handle = dlopen(path[i % 2], RTLD_NOW | RTLD_LOCAL);
		EXPECT(handle);
		void (*work)(void) = (void (*)(void))dlsym(handle, "work");
		EXPECT(work);
		work();
		at[i % 2] = (void *)work;
		EXPECT(!dlclose(handle));
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", at[0] == at[1]);
}

/* Says its number, and then only waits: for at most ten seconds, for it has no parent. */
static void idle_daemon(const char *path)
{
	static char text[16];
	struct epoll_event event;

	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	int at = sizeof(text);
	for (int n = getpid(); n; n /= 10)
		text[--at] = (char)('0' + n % 10);
	/* at once: a reader sees all or nothing */
	if (write(fd, text + at, sizeof(text) - (size_t)at) < 1)
		_exit(1);
	close(fd);
	fd = epoll_create1(0);
	for (int i = 0; i < 100; i++)
		epoll_wait(fd, &event, 1, 100);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "storm", storm },
	{ "handlers", handlers },
	{ "timer", timer_storm },
	{ "coroutines", coroutines },
	{ "failing-exec", failing_exec },
	{ "clone-vm", clone_vm },
	{ "late-ends", late_ends },
	{ "limits", limits },
	{ "sealed", sealed },
	{ "stripped", stripped },
};

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t i;

	if (!strcmp(mode, "crowd"))
		crowd(atoi(argv[2]));
	else if (!strcmp(mode, "resting"))
		resting(atoi(argv[2]));
	else if (!strcmp(mode, "short"))
		short_threads(atoi(argv[2]));
	else if (!strcmp(mode, "daemon"))
		idle_daemon(argv[2]);
	else if (!strcmp(mode, "without-sockets"))
		without_sockets(argv[2], argv + 3);
	else if (!strcmp(mode, "plugins"))
		plugins(argv[2], argv[3]);
	else {
		for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
			if (!strcmp(mode, modes[i].name))
				break;
		EXPECT(i < sizeof(modes) / sizeof(modes[0]));
		modes[i].run();
	}
	return 0;
}
