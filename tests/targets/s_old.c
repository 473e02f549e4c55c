/* SPDX-License-Identifier: MIT
 *
 * s_old.c - runs a program as on an older kernel. Usage: s_old 3.10|4.4|4.9|5.4[+eperm] PROGRAM
 * [ARGUMENTS].
 *
 * A filter of system calls answers as that kernel would: ENOSYS to calls that came later (their
 * numbers are given out in order of time), EINVAL to later advices of madvise and commands of
 * membarrier, ENOTTY to a pidfd's ioctl. "+eperm": later calls get EPERM, as containers of that
 * time answered unknown calls. It cannot imitate flags that old kernels ignore, nor the contents of
 * /proc.
 */
#include "target.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel {
	const char *name;
	unsigned last;    /* system call */
	int32_t advice;   /* the last that madvise knows, of those that came by number */
	int32_t barriers; /* commands of membarrier, ORed */
};

/* madvise: FREE 4.5 (8), WIPEONFORK 4.14 (18), COLD 5.4 (20), POPULATE_READ 5.14 (22). */
static const struct kernel kernels[] = {
	{ "3.10", SYS_finit_module, 17, 0 },
	{ "4.4", SYS_mlock2, 17, 1 },
	{ "4.9", SYS_pkey_free, 17, 1 },
	{ "5.4", SYS_clone3, 21, 0x7f },
};

#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define IF_NOT(how, value, skip) BPF_JUMP(BPF_JMP | (how) | BPF_K, (value), 0, (skip))
#define IF(how, value, skip) BPF_JUMP(BPF_JMP | (how) | BPF_K, (value), (skip), 0)
#define SAY(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define PIDFD_IOCTL 0xff00u /* _IOC_TYPE 0xff in bits 8..15 */

static void seem(const struct kernel *k, unsigned error)
{
	/* MADV_FREE came in between */
	unsigned free_advice = k->last >= SYS_pkey_free ? UINT32_MAX : 8;
	struct sock_filter rules[] = {
		LOAD(nr),
		IF_NOT(BPF_JGT, k->last, 1),
		SAY(error),
		IF_NOT(BPF_JEQ, SYS_madvise, 6),
		LOAD(args[2]),
		IF(BPF_JEQ, free_advice, 3),
		IF(BPF_JGE, 100, 1), /* of the machine, and poisoning */
		IF(BPF_JGT, (unsigned)k->advice, 1),
		ALLOW,
		SAY(EINVAL),
		IF_NOT(BPF_JEQ, SYS_membarrier, 5),
		LOAD(args[0]),
		IF(BPF_JEQ, 0, 1),
		IF(BPF_JSET, (unsigned)~k->barriers, 1),
		ALLOW,
		SAY(EINVAL),
		IF_NOT(BPF_JEQ, SYS_ioctl, 4),
		LOAD(args[1]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PIDFD_IOCTL),
		IF_NOT(BPF_JEQ, PIDFD_IOCTL, 1),
		SAY(ENOTTY),
		ALLOW,
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	}
}

int main(int argc, char **argv)
{
	size_t len = argc > 2 ? strcspn(argv[1], "+") : 0;

	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (len && strlen(kernels[i].name) == len &&
		    !strncmp(argv[1], kernels[i].name, len)) {
			seem(&kernels[i], argv[1][len] ? EPERM : ENOSYS);
			execvp(argv[2], argv + 2);
			perror(argv[2]);
			return 127;
		}
	return argc < 2 ? 0 : 2;
}
