/* SPDX-License-Identifier: MIT
 *
 * s_sealed.c - a program that cannot be attached to as others can, one way each, and waits for
 * ever, with a line "ready" before that:
 *   kill    a seccomp filter that kills for all but waiting, allocating and ending
 *   errno   a filter that lets all pass but unshare
 *   strict  seccomp's strict mode
 *   undumpable  prctl(PR_SET_DUMPABLE, 0)
 *   zombie  its child has ended, and is not waited for; prints the child's pid instead
 *   slow    a filter that holds each signalfd4 for three seconds: of all here, only the agent's
 *           server makes that call
 *   ignore  SIGSEGV is ignored, and SIGTRAP blocked; SIGTERM ends it, with 0 when SIGSEGV still is
 */
#include "target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD_NR BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static void seal(struct sock_filter *rules, unsigned short count)
{
	struct sock_fprog program = { count, rules };

	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void seal_kill(void)
{
	struct sock_filter rules[] = {
		LOAD_NR,
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_brk),
		ALLOW(SYS_write),
		ALLOW(SYS_read),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	seal(rules, sizeof rules / sizeof *rules);
}

static void seal_errno(void)
{
	struct sock_filter rules[] = {
		LOAD_NR,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	seal(rules, sizeof rules / sizeof *rules);
}

/* Answers what the filter asks, three seconds late. */
static void *answer(void *arg)
{
	int fd = *(int *)arg;

	for (;;) {
		struct seccomp_notif ask = { 0 };
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &ask))
			continue;
		sleep(3);
		struct seccomp_notif_resp answer = { .id = ask.id,
						     .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	return NULL;
}

static void seal_slow(void)
{
	struct sock_filter rules[] = {
		LOAD_NR,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_signalfd4, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
	static int fd;
	pthread_t thread;

	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			  &program);
	EXPECT(fd >= 0 && !pthread_create(&thread, NULL, answer, &fd));
}

static void on_term(int signum)
{
	struct sigaction is;

	(void)signum;
	sigaction(SIGSEGV, NULL, &is);
	sigset_t mask;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	_exit(is.sa_handler == SIG_IGN && sigismember(&mask, SIGTRAP) ? 0 : 1);
}

static void ignore(void)
{
	struct sigaction off = { .sa_handler = SIG_IGN }, term = { .sa_handler = on_term };
	sigset_t mask;

	EXPECT(!sigaction(SIGSEGV, &off, NULL) && !sigaction(SIGTERM, &term, NULL));
	sigemptyset(&mask);
	sigaddset(&mask, SIGTRAP);
	EXPECT(!sigprocmask(SIG_BLOCK, &mask, NULL));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char byte, line[32] = "ready\n";
	int ends[2];

	if (argc < 2)
		return 0;
	EXPECT(!pipe(ends));
	free(malloc(1));
	if (!strcmp(how, "kill")) {
		seal_kill();
	} else if (!strcmp(how, "errno")) {
		seal_errno();
	} else if (!strcmp(how, "slow")) {
		seal_slow();
	} else if (!strcmp(how, "strict")) {
		EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	} else if (!strcmp(how, "undumpable")) {
		EXPECT(!prctl(PR_SET_DUMPABLE, 0));
	} else if (!strcmp(how, "ignore")) {
		ignore();
	} else if (!strcmp(how, "zombie")) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		snprintf(line, sizeof line, "%d\n", (int)child);
	}
	EXPECT(write(1, line, strlen(line)) > 0);
	while (read(ends[0], &byte, 1) != 1)
		;
	return 0;
}
