/* SPDX-License-Identifier: MIT
 *
 * s_tree.c - processes that start and end in every way, with known allocations.
 *
 *   end HOW              allocates OWN blocks and ends so (see ends())
 *   child HOW END        allocates OWN blocks, makes a child (fork, _Fork, clone), which allocates
 *                        MORE and ends so
 *   starts HOW PATH ARG.. starts a program so (exec, fork, vfork, spawn, spawnp, system, popen,
 *   wordexp); waits for it
 *   failed               an exec that fails, then MORE blocks
 *   lingers              becomes a cat
 *   grows BYTES          forks; the child allocates so much and waits for input
 *   variables NAME..     getenv() of each before, after and inside of system(), where a thread
 *                        changes the environment
 *   changes N            N times setenv() and unsetenv(), while threads call system(); says what is
 *                        not as it has to be
 *   spoilt               environments and paths that nobody can read, for execve, posix_spawn and
 *                        others: what each of them says
 *   longest HOW          the longest value of a variable with which a program can be started so:
 *                        execve, spawn, system and the like
 *   races N              N times posix_spawn() with `environ`, to which a thread adds variables all
 *                        the time
 *   filtered BY HOW PATH ..  as starts, under a filter (set by prctl, or seccomp itself) that kills
 *                        for what no static program of ours does on its way to write()
 *   daemon               a child that forks twice, closes all it has and allocates MORE
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#define OWN 10
#define MORE 5

extern pid_t _Fork(void) __attribute__((weak));
extern char **environ;

static void *volatile kept[OWN + MORE];

static void allocate(int from, int count, size_t bytes)
{
	for (int i = from; i < from + count; i++)
		kept[i] = malloc(bytes);
}

static void ends(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "_exit"))
		_exit(4);
	if (!strcmp(how, "_Exit"))
		_Exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(6);
	if (!strcmp(how, "abort"))
		abort();
	raise(atoi(how));
}

static pid_t make(const char *how)
{
	if (!strcmp(how, "_Fork") && _Fork)
		return _Fork();
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	return fork();
}

static int reap(pid_t pid)
{
	int status = -1;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int child(const char *how, const char *end)
{
	pid_t pid = make(how);

	if (!pid) {
		allocate(OWN, MORE, 100);
		ends(end);
	}
	reap(pid);
	return 0;
}

static int by_libc(const char *how, char **argv)
{
	char line[4096] = "", out[4096];
	wordexp_t words;

	for (; *argv; argv++)
		strcat(strcat(line, *argv), argv[1] ? " " : "");
	if (!strcmp(how, "system"))
		return WEXITSTATUS(system(line));
	if (!strcmp(how, "popen")) {
		FILE *f = popen(line, "r");
		EXPECT(f);
		while (fgets(out, sizeof out, f))
			fputs(out, stdout);
		return WEXITSTATUS(pclose(f));
	}
	snprintf(out, sizeof out, "$(%s)", line);
	EXPECT(!wordexp(out, &words, 0));
	for (size_t i = 0; i < words.we_wordc; i++)
		printf("%s ", words.we_wordv[i]);
	return 0;
}

static int starts(const char *how, char **argv)
{
	pid_t pid = -1;

	if (!strcmp(how, "exec"))
		return execv(argv[0], argv), 127;
	if (!strcmp(how, "fork"))
		pid = fork();
	else if (!strcmp(how, "vfork"))
		pid = vfork();
	else if (!strcmp(how, "spawn"))
		EXPECT(!posix_spawn(&pid, argv[0], NULL, NULL, argv, environ));
	else if (!strcmp(how, "spawnp"))
		EXPECT(!posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ));
	else
		return by_libc(how, argv);
	if (!pid) {
		execv(argv[0], argv);
		_exit(127);
	}
	return reap(pid);
}

#define KILL(nr)                                                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static int filtered(const char *by, const char *how, char **argv)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL(SYS_openat),
		KILL(SYS_newfstatat),
		KILL(SYS_pread64),
		KILL(SYS_faccessat),
		KILL(SYS_fgetxattr),
		KILL(SYS_getresuid),
		KILL(SYS_getresgid),
		KILL(SYS_geteuid),
		KILL(SYS_fcntl),
		KILL(SYS_socket),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rules / sizeof *rules, rules };

	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!strcmp(by, "prctl"))
		EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else
		EXPECT(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	return starts(how, argv);
}

static int failed(void)
{
	static char *args[] = { "none", NULL };
	pid_t pid;

	EXPECT(execv("/etc/passwd", args) == -1 && errno == EACCES);
	EXPECT(execv("/etc", args) == -1 && execv("/no/such", args) == -1);
	EXPECT(execv("broken", args) == -1); /* looks like a program, and is none */
	pid = vfork();
	if (!pid) {
		execv("broken", args);
		_exit(7);
	}
	EXPECT(reap(pid) == 7);
	EXPECT(posix_spawn(&pid, "broken", NULL, NULL, args, environ));
	allocate(OWN, MORE, 100);
	return 0;
}

static int grows(size_t bytes)
{
	pid_t pid = fork();

	if (pid) {
		kill(getpid(), SIGSTOP); /* not the one that is looked at */
		return reap(pid);
	}
	for (size_t i = 0; i < bytes; i += 4096)
		memset(malloc(4096), 1, 4096);
	struct pollfd in = { 0, POLLIN, 0 };
	while (poll(&in, 1, 10) >= 0 && !in.revents)
		free(malloc(1));
	_exit(0);
}

static char **names;
static int running[2], go_on[2]; /* pipes: a shell runs; it may end */

/* The variables that a reader of the environment finds, by name and in order. */
static int seen(void)
{
	int n = 0;

	for (char **name = names; *name; name++)
		n += getenv(*name) != NULL;
	for (char **e = environ; *e; e++)
		n += !strncmp(*e, "MEMTOP_", 7) ||
		     (!strncmp(*e, "LD_PRELOAD=", 11) && strstr(*e, "libmemtop-agent"));
	return n;
}

/* In the middle of each system() of the main thread's: its variables come, change and go. */
static void *changes(void *how)
{
	char byte;

	EXPECT(read(running[0], &byte, 1) == 1);
	seen();
	if (!strcmp(how, "new"))
		EXPECT(!setenv("TREE_NEW", "1", 1));
	else if (!strcmp(how, "changed"))
		EXPECT(!setenv("TREE_OLD", "2", 1));
	else if (!strcmp(how, "gone"))
		EXPECT(!unsetenv("TREE_OLD"));
	else if (!strcmp(how, "put"))
		EXPECT(!putenv((char *)"TREE_PUT=3"));
	else if (!strcmp(how, "shell"))
		EXPECT(!system("true"));
	EXPECT(write(go_on[1], "\n", 1) == 1);
	return NULL;
}

static int variables(char **which)
{
	static char *const ways[] = { "new", "changed", "gone", "put", "shell", "nothing" };
	char command[64];
	pthread_t t;

	names = which;
	EXPECT(!pipe(running) && !pipe(go_on) && !setenv("TREE_OLD", "0", 1));
	snprintf(command, sizeof command, "echo >&%d; read x <&%d", running[1], go_on[0]);
	printf("before: %d\n", seen());
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		EXPECT(!pthread_create(&t, NULL, changes, ways[i]) && !system(command) &&
		       !pthread_join(t, NULL));
		printf("%s: %d", ways[i], seen());
		for (char **e = environ; *e; e++)
			if (!strncmp(*e, "TREE_", 5))
				printf(" %s", *e);
		printf("\n");
		EXPECT(read(running[0], command + sizeof command - 1, 0) == 0);
	}
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		printf("child: %d\n", seen());
		fflush(stdout);
		_exit(0);
	}
	return reap(pid);
}

static int is_daemon(void)
{
	if (fork())
		return 0;
	setsid();
	if (fork())
		_exit(0);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	allocate(OWN, MORE, 100);
	_exit(9);
}

static atomic_int xchanged;

/* It may fail: the kernel reads the array while libc makes it anew. */
static void *calls_system(void *unused)
{
	while (!atomic_load(&xchanged))
		if (system(":") == -1)
			continue;
	return unused;
}

/* Variables come and go, so that libc reallocates the array; one thread alone reads its
 * own. */
static int set_and_unset(int n)
{
	enum { CALLERS = 8, NAMES = 200 };
	pthread_t caller[CALLERS];
	char name[32], value[32];

	for (int i = 0; i < CALLERS; i++)
		EXPECT(!pthread_create(&caller[i], NULL, calls_system, NULL));
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "V%d", i % NAMES);
		snprintf(value, sizeof value, "%d", i);
		EXPECT(!setenv(name, value, 1));
		EXPECT(getenv(name) && !strcmp(getenv(name), value));
		if (i / NAMES % 2)
			EXPECT(!unsetenv(name) && !getenv(name));
		usleep(300);
	}
	atomic_store(&xchanged, 1);
	for (int i = 0; i < CALLERS; i++)
		EXPECT(!pthread_join(caller[i], NULL));
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "MEMTOP_", 7) || !strncmp(*e, "LD_PRELOAD", 10))
			puts(*e);
	return 0;
}

/* Its end is the end of a page, behind which nothing is mapped. */
static char **without_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(two != MAP_FAILED && !munmap(two + page, page));
	char **list = (char **)(void *)two;
	for (size_t i = 0; i < page / sizeof(*list); i++)
		list[i] = (char *)"A=1";
	return list;
}

/* A text that no page ends in: "LD_PRELOAD=a". */
static char *text_without_end(void)
{
	static const char text[] = "LD_PRELOAD=a";
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(two != MAP_FAILED && !munmap(two + page, page));
	return memcpy(two + page - sizeof text + 1, text, sizeof text - 1);
}

static int spoilt(void)
{
	static char *const none[] = { (char *)"B=2", (char *)8, NULL }; /* never a mapped address */
	char *const open[] = { (char *)"B=2", text_without_end(), NULL };
	char *const *lists[] = { none, (char *const *)16, without_end(), open };
	char *const argv[] = { (char *)"true", NULL };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		pid_t pid;
		int spawned = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, lists[i]);
		EXPECT(execve("/bin/true", argv, (char *const *)lists[i]) == -1);
		printf("%zu: execve %s, posix_spawn %s\n", i, strerror(errno), strerror(spawned));
	}
	const char *const paths[] = { (char *)16, text_without_end() };
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		const char *volatile path = paths[i];
		pid_t pid;
		int spawned = posix_spawn(&pid, path, NULL, NULL, argv, environ);
		EXPECT(execve(path, argv, environ) == -1);
		printf("path %zu: execve %s, posix_spawn %s", i, strerror(errno),
		       strerror(spawned));
		EXPECT(execv(path, argv) == -1);
		printf(", execv %s", strerror(errno));
		EXPECT(execveat(AT_FDCWD, path, argv, environ, AT_EMPTY_PATH) == -1);
		printf(", execveat %s\n", strerror(errno));
	}
	return 0;
}

static void executes(const char *how, char *const *argv)
{
	if (!strcmp(how, "execve"))
		execve(argv[0], argv, environ);
	else if (!strcmp(how, "execv"))
		execv(argv[0], argv);
	else if (!strcmp(how, "execvp"))
		execvp("true", argv);
	else if (!strcmp(how, "execvpe"))
		execvpe("true", argv, environ);
	else if (!strcmp(how, "execle"))
		execle(argv[0], "true", NULL, environ);
	else if (!strcmp(how, "fexecve"))
		fexecve(open(argv[0], O_RDONLY), argv, environ);
	else if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, argv[0], argv, environ, 0);
	_exit(errno);
}

/* 0, or why not */
static int start_true(const char *how)
{
	char *const argv[] = { (char *)"/bin/true", NULL };
	pid_t pid = -1;

	if (!strcmp(how, "system"))
		return WEXITSTATUS(system(":"));
	if (!strcmp(how, "popen"))
		return WEXITSTATUS(pclose(popen(":", "r")));
	if (!strncmp(how, "spawn", 5)) {
		int rc = !strcmp(how, "spawn")
				 ? posix_spawn(&pid, argv[0], NULL, NULL, argv, environ)
				 : posix_spawnp(&pid, "true", NULL, NULL, argv, environ);
		return rc ? rc : reap(pid);
	}
	pid = strncmp(how, "vfork ", 6) ? fork() : vfork();
	if (!pid)
		executes(strncmp(how, "vfork ", 6) ? how : how + 6, argv);
	return reap(pid);
}

/* The stack's limit is the arguments' too: below 512 KiB, 128 KiB of them. */
static int longest(const char *how)
{
	static char value[128 << 10];
	size_t fits = 100000, not = sizeof value;
	int why = 0;

	while (not -fits > 1) {
		size_t middle = (fits + not ) / 2;
		memset(value, 'x', middle);
		value[middle] = 0;
		EXPECT(!setenv("LONGEST", value, 1));
		int rc = start_true(how);
		if (rc)
			why = rc;
		*(rc ? &not : &fits) = middle;
	}
	printf("%s: %zu, then %d\n", how, fits, why);
	return 0;
}

static void *adds_variables(void *unused)
{
	char name[32];

	for (int i = 0; !atomic_load(&xchanged); i++) {
		snprintf(name, sizeof name, "ADDED_%d", i);
		EXPECT(!setenv(name, "1", 1));
		if (i % 500 == 499)
			EXPECT(!clearenv());
	}
	return unused;
}

/* Some of them fail: the kernel finds the array that setenv() has freed. */
static int races(int n)
{
	char *const argv[] = { (char *)"true", NULL };
	int status;
	pthread_t t;
	pid_t pid;

	EXPECT(!pthread_create(&t, NULL, adds_variables, NULL));
	for (int i = 0; i < n; i++)
		if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
			EXPECT(waitpid(pid, &status, 0) == pid);
	atomic_store(&xchanged, 1);
	EXPECT(!pthread_join(t, NULL));
	return 0;
}

int main(int argc, char **argv)
{
	EXPECT(argc > 1);
	if (strcmp(argv[1], "starts") && strcmp(argv[1], "filtered"))
		allocate(0, OWN, 1000);
	if (!strcmp(argv[1], "end") && argc == 3)
		return ends(argv[2]), 0;
	if (!strcmp(argv[1], "child") && argc == 4)
		return child(argv[2], argv[3]);
	if (!strcmp(argv[1], "starts") && argc > 3)
		return starts(argv[2], argv + 3);
	if (!strcmp(argv[1], "filtered") && argc > 4)
		return filtered(argv[2], argv[3], argv + 4);
	if (!strcmp(argv[1], "failed"))
		return failed();
	if (!strcmp(argv[1], "lingers"))
		return execl("/bin/cat", "cat", NULL);
	if (!strcmp(argv[1], "grows") && argc == 3)
		return grows((size_t)atol(argv[2]));
	if (!strcmp(argv[1], "variables"))
		return variables(argv + 2);
	if (!strcmp(argv[1], "changes") && argc == 3)
		return set_and_unset(atoi(argv[2]));
	if (!strcmp(argv[1], "spoilt"))
		return spoilt();
	if (!strcmp(argv[1], "longest") && argc == 3)
		return longest(argv[2]);
	if (!strcmp(argv[1], "races") && argc == 3)
		return races(atoi(argv[2]));
	return !strcmp(argv[1], "daemon") ? is_daemon() : 2;
}
