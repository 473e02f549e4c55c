/* SPDX-License-Identifier: MIT
 *
 * s_server.c - a program that obeys commands, one per line, for tests of the agent's
 * server.
 *
 * Reads commands from descriptor 0 with read(), answers each with one line on descriptor 1 with
 * write(): no stdio, so that every allocation is one that was asked for.
 *
 *   a N SIZE    N blocks at one site          b N SIZE   N blocks at another
 *   f N SIZE    as b, and filled
 *   A / B       free all of the first / second site's
 *   h SIZE      a mapping of that size, filled, in the lower of two places, of which the other one
 *               is unmapped
 *   H           move it to that place: "ok", or "broken" when it is not as it was
 *   d DEPTH N   N blocks below DEPTH frames, kept
 *   s N         one block of 64 bytes on each of N different stacks, kept
 *   m NAME      memtop_mark(NAME)             w          what wait() says: "ECHILD" or a pid
 *   W           ... a plain one, without __WALL
 *   x N  _ N  q N  exit, _exit, quick_exit    k N        raise(N), default action
 *   X N         exit_group past the C library
 *   p           pthread_exit from main while a thread ends with exit(7)
 *   u N         unshare(N): 0 or errno        U N        ... by a child of vfork
 *   o N         seteuid(N)
 *   i N         setresuid(N, N, N)            r / R      become a subreaper, then w / W
 *   c           close descriptors 3..4095, open /dev/null: its number
 *   t NAME      rename this thread            e PROG     exec
 *   E PROG      exec past the C library       n          prctl(PR_SET_DUMPABLE, 0)
 *   j FOLDER    chroot there: "0" or errno    l          give up all capabilities
 *   K N         setresuid(N, N, N), but keep CAP_NET_RAW
 *   y           a filter for all threads that kills for what only a server calls: "0" or errno
 *   z           as libseccomp does it: a filter that kills for all but reading, writing and ending
 *   v / V       a child of vfork / of clone(CLONE_VM) waits for our end, says "survived", and takes
 *               the commands from then on
 *   F N         fork N children that wait for the end of their parent
 *   D           dumpable?                     T N        N threads that allocate and end
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern int memtop_mark(const char *name) __attribute__((weak));

static void *first[1 << 16], *second[1 << 16];
static int firsts, seconds;

static void answer(const char *text)
{
	size_t n = strlen(text);

	if (write(1, text, n) != (ssize_t)n || write(1, "\n", 1) != 1)
		_exit(99);
}

static void answer_number(long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", n);
	answer(text);
}

__attribute__((noinline)) static void alloc_first(int n, size_t size)
{
	while (n-- > 0)
		first[firsts++] = malloc(size);
}

__attribute__((noinline)) static void alloc_second(int n, size_t size)
{
	while (n-- > 0)
		second[seconds++] = malloc(size);
}

static char *moved;
static size_t moved_bytes;

static void map_below(size_t size)
{
	char *both =
		mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(both + size, size);
	moved = memset(both, 1, size);
	moved_bytes = size;
}

static bool move_up(void)
{
	char *to = mremap(moved, moved_bytes, moved_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			  moved + moved_bytes);

	for (size_t i = 0; to != MAP_FAILED && i < moved_bytes; i++)
		if (to[i] != 1)
			return false;
	moved = to;
	return to != MAP_FAILED;
}

__attribute__((noinline)) static int below(int depth, int n)
{
	if (depth)
		return below(depth - 1, n) + 1;
	alloc_first(n, 32);
	return 0;
}

/* A stack of its own for each number: its bits choose the functions on the way. */
static int stack_of(unsigned bits, int left);
__attribute__((noinline)) static int zero(unsigned bits, int left)
{
	return stack_of(bits, left) + 1;
}
__attribute__((noinline)) static int one(unsigned bits, int left)
{
	return stack_of(bits, left) + 2;
}
__attribute__((noinline)) static int stack_of(unsigned bits, int left)
{
	if (!left) {
		void *volatile keep = malloc(64);
		return keep != NULL;
	}
	return (bits & 1 ? one : zero)(bits >> 1, left - 1) + 1;
}

static void *ends_with_seven(void *arg)
{
	(void)arg;
	usleep(50000);
	free(malloc(4321));
	exit(7);
}

static void *allocates(void *arg)
{
	(void)arg;
	void *p = malloc(100);
	void *volatile keep = malloc(200);
	free(p);
	return keep;
}

static void threads(int n)
{
	while (n-- > 0) {
		pthread_t t;
		if (pthread_create(&t, NULL, allocates, NULL) == 0)
			pthread_join(t, NULL);
	}
}

static void forks(int n)
{
	while (n-- > 0)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
}

static int unshares_in_child(int flags)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0)
		_exit(unshare(flags) ? errno : 0);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void say_wait(int flags)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG | flags);

	if (pid < 0 && errno == ECHILD)
		answer("ECHILD");
	else
		answer_number(pid);
}

static void commands(void);

/* In its parent's memory; the blocks there must still be what they were. */
static int survivor(void *parent)
{
	while (getppid() == *(pid_t *)parent)
		usleep(10000);
	answer("survived");
	commands();
	return 0;
}

static void survive(bool vforks)
{
	static pid_t self;
	static char stack[1 << 18];

	self = getpid();
	if (!vforks)
		clone(survivor, stack + sizeof(stack) - 64, CLONE_VM | SIGCHLD, &self);
	else
		clone(survivor, stack + sizeof(stack) - 64, CLONE_VM | CLONE_VFORK | SIGCHLD,
		      &self);
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL_FOR(nr)                                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* Past the C library's prctl(), as libseccomp does it. */
static long filter_all_threads(struct sock_filter *rules, unsigned short count)
{
	struct sock_fprog program = { count, rules };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)
		       ? errno
		       : 0;
}

static long filter_servers_calls(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_FOR(SYS_ppoll),
		KILL_FOR(SYS_accept4),
		KILL_FOR(SYS_sendto),
		KILL_FOR(SYS_recvfrom),
		KILL_FOR(SYS_openat),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter_all_threads(rules, sizeof(rules) / sizeof(*rules));
}

static long filter_most(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	return filter_all_threads(rules, sizeof(rules) / sizeof(*rules));
}

static long set_capabilities(unsigned low)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { low, low, 0 }, { 0, 0, 0 } };

	return syscall(SYS_capset, &header, data) ? errno : 0;
}

static long keep_one(uid_t to)
{
	prctl(PR_SET_KEEPCAPS, 1);
	return setresuid(to, to, to) ? errno : set_capabilities(1u << CAP_NET_RAW);
}

static void close_all(void)
{
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	answer_number(open("/dev/null", O_RDONLY));
}

static void run(char *line)
{
	char *rest = strchr(line, ' ');
	int n = rest ? atoi(rest) : 0;
	char *more = rest ? strchr(rest + 1, ' ') : NULL;
	size_t size = more ? (size_t)atol(more) : 0;
	pthread_t t;

	switch (line[0]) {
	case 'a': alloc_first(n, size); break;
	case 'b': alloc_second(n, size); break;
	case 'f':
		alloc_second(n, size);
		for (int i = seconds; n--;)
			memset(second[--i], 1, size);
		break;
	case 'A':
		while (firsts)
			free(first[--firsts]);
		break;
	case 'h': map_below((size_t)n); break;
	case 'H': answer(move_up() ? "ok" : "broken"); return;
	case 'B':
		while (seconds)
			free(second[--seconds]);
		break;
	case 'd': below(n, (int)size); break;
	case 's':
		for (unsigned i = 0; i < (unsigned)n; i++)
			stack_of(i, 17);
		break;
	case 'm': answer_number(memtop_mark ? memtop_mark(rest ? rest + 1 : "") : -1); return;
	case 'w': say_wait(__WALL); return;
	case 'W': say_wait(0); return;
	case 'x': exit(n);
	case '_': _exit(n);
	case 'X': syscall(SYS_exit_group, n); break;
	case 'q': quick_exit(n);
	case 'k':
		signal(n, SIG_DFL);
		raise(n);
		break;
	case 'p': pthread_create(&t, NULL, ends_with_seven, NULL); pthread_exit(NULL);
	case 'u': answer_number(unshare((int)n) ? errno : 0); return;
	case 'U': answer_number(unshares_in_child((int)n)); return;
	case 'i':
		answer_number(setresgid((gid_t)n, (gid_t)n, (gid_t)n) ||
					      setresuid((uid_t)n, (uid_t)n, (uid_t)n)
				      ? errno
				      : 0);
		return;
	case 'r':
	case 'R':
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		say_wait(line[0] == 'r' ? __WALL : 0);
		return;
	case 'c': close_all(); return;
	case 't': prctl(PR_SET_NAME, rest + 1); break;
	case 'D': answer_number(prctl(PR_SET_DUMPABLE, 1) ? -1 : prctl(PR_GET_DUMPABLE)); return;
	case 'g': answer_number(prctl(PR_GET_DUMPABLE)); return;
	case 'e':
		execl(rest + 1, rest + 1, "s_server", (char *)NULL);
		answer_number(errno);
		return;
	case 'E':
		answer_number(syscall(SYS_execve, rest + 1, (char *[]){ rest + 1, NULL }, environ)
				      ? errno
				      : 0);
		return;
	case 'n': answer_number(prctl(PR_SET_DUMPABLE, 0)); return;
	case 'j': answer_number(chroot(rest + 1) ? errno : 0); return;
	case 'o': answer_number(seteuid((uid_t)n) ? errno : 0); return;
	case 'l': answer_number(set_capabilities(0)); return;
	case 'K': answer_number(keep_one((uid_t)n)); return;
	case 'y': answer_number(filter_servers_calls()); return;
	case 'z': answer_number(filter_most()); return;
	case 'v':
	case 'V': survive(line[0] == 'v'); break;
	case 'T': threads(n); break;
	case 'F': forks(n); break;
	}
	answer("ok");
}

static void commands(void)
{
	char buf[4096];
	size_t have = 0;

	for (;;) {
		char *end = memchr(buf, '\n', have);
		if (!end) {
			ssize_t n = read(0, buf + have, sizeof(buf) - have);
			if (n <= 0)
				_exit(0);
			have += (size_t)n;
			continue;
		}
		*end = 0;
		run(buf);
		have -= (size_t)(end + 1 - buf);
		memmove(buf, end + 1, have);
	}
}

int main(void)
{
	answer("ready");
	commands();
	return 0;
}
