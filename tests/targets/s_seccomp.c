/* SPDX-License-Identifier: MIT
 *
 * s_seccomp.c - a filter that kills on any system call but those of a plain allocator and of a
 * thread's life, then allocations of all sizes, in a new thread too. Prints ok. Usage: s_seccomp
 * [filter]; without it only the allocations.
 */
#include "target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *work(void *arg)
{
	for (size_t i = 0; i < 1000; i++)
		free(malloc(i * 100));
	return arg;
}

static void seal(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_madvise),
		ALLOW(SYS_mremap),
		ALLOW(SYS_brk),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_exit),
		ALLOW(SYS_clone3),
		ALLOW(SYS_clone),
		ALLOW(SYS_futex),
		ALLOW(SYS_set_robust_list),
		ALLOW(SYS_rseq),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigaction),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	free(malloc(1)); /* the first asks for random bytes */
	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1 && !strcmp(argv[1], "filter"))
		seal();
	for (size_t i = 0; i < 10000; i++) {
		void *p = malloc(i * 37 % 5000);
		p = realloc(p, i * 11 + 1);
		if (i % 3)
			free(p);
	}
	EXPECT(!pthread_create(&t, NULL, work, NULL));
	EXPECT(!pthread_join(t, NULL));
	return write(1, "ok\n", 3) == 3 ? 0 : 1;
}
