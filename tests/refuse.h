/* SPDX-License-Identifier: MIT
 *
 * refuse.h - makes a system call fail from here on, as an older kernel or a container's filter
 * does.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#define REFUSE_ANY (-1)

/* `nr`, when its argument number `argument` (REFUSE_ANY: whatever they are) has that value: -1, and
 * errno `error`. */
static inline bool refuse(int nr, int argument, uint32_t value, int error)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(offsetof(struct seccomp_data, args) +
				    8 * (argument == REFUSE_ANY ? 0u : (unsigned)argument))),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, argument == REFUSE_ANY ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
