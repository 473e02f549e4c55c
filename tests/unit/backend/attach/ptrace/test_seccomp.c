/* SPDX-License-Identifier: MIT
 *
 * test_seccomp.c - classic BPF as attach/ptrace/seccomp.c runs it, against the kernel itself:
 * random filters are installed, and for system calls that do not exist both must give the same
 * answer.
 */
#include "check.h"
#include "attach/ptrace/stopped_process.h"
#include "random.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/prctl.h>

#define PROGRAMS 120
#define CALLS 60
#define FIRST_CALL 0x4000000 /* numbers that no kernel has */

#ifdef __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH AUDIT_ARCH_X86_64
#endif

/* Loads, arithmetic and forward jumps, then answers: an errno of 1 to 30, or the call itself
 * (ENOSYS). */
static size_t make(struct sock_filter *p)
{
	static const uint16_t alu[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND,
					BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH };
	static const uint16_t jump[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	size_t n = 0, body = 4 + below(24);

	/* this test's own calls pass */
	p[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr));
	p[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_CALL, 1, 0);
	p[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* the kernel wants memory written before it is read */
	for (int i = 0; i < BPF_MEMWORDS; i++)
		p[n++] = (struct sock_filter)BPF_STMT(BPF_ST, (uint32_t)i);
	p[n++] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 3);
	for (size_t end = n + body; n < end;) {
		uint32_t k = (uint32_t)below(64);
		unsigned left = (unsigned)(end - n) - 1;
		uint8_t t = (uint8_t)below(left + 3), f = (uint8_t)below(left + 3);
		switch (below(9)) {
		case 0:
			k %= 14; /* not the instruction pointer, at 8 */
			p[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							      (k < 2 ? k : k + 2) * 4);
			break;
		case 1:
			p[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | alu[below(6)] | BPF_X, 0);
			break;
		case 2:
			p[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | alu[below(8)] | BPF_K,
							      k % 32);
			break;
		case 3:
			p[n++] = (struct sock_filter)BPF_STMT(below(2) ? BPF_ST : BPF_STX, k % 16);
			break;
		case 4:
			p[n++] = (struct sock_filter)BPF_STMT(
				(below(2) ? BPF_LD : BPF_LDX) | BPF_W | BPF_MEM, k % 16);
			break;
		case 5:
			p[n++] = (struct sock_filter)BPF_STMT(
				BPF_MISC | (below(2) ? BPF_TAX : BPF_TXA), 0);
			break;
		case 6:
			p[n++] = (struct sock_filter)BPF_STMT(
				(below(2) ? BPF_LD : BPF_LDX) | BPF_W | BPF_LEN, 0);
			break;
		case 7: p[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_NEG, 0); break;
		default:
			p[n++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | jump[below(4)] | (below(2) ? BPF_X : BPF_K), k, t, f);
		}
	}
	/* one of four ends: the jumps above may go to any of the last three */
	p[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 5, 1, 0);
	p[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					      SECCOMP_RET_ERRNO | (1 + (uint32_t)below(30)));
	p[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return n;
}

/* 0: both agree for all calls. */
static int compare(struct sock_filter *p, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, p };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return errno == EINVAL ? 2 : 3;
	for (int i = 0; i < CALLS; i++) {
		long args[6];
		for (int k = 0; k < 6; k++)
			args[k] = (long)below(100);
		int nr = FIRST_CALL + (int)below(64);
		struct seccomp_data data = { .nr = nr, .arch = ARCH };
		for (int k = 0; k < 6; k++)
			data.args[k] = (uint64_t)args[k];
		uint32_t ours = inject_filter_run(p, n, &data);
		errno = 0;
		syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
		int wanted = (ours & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO
				     ? (int)(ours & 0xffff)
				     : ENOSYS;
		if (errno != wanted) {
			printf("  call %d: the kernel %d, here %d\n", i, errno, wanted);
			fflush(stdout);
			return 1;
		}
	}
	return 0;
}

TEST(as_the_kernel)
{
	struct sock_filter p[96];
	int agreed = 0;

	seed = 7;
	for (int i = 0; i < PROGRAMS; i++) {
		size_t n = make(p);
		int status;
		pid_t child = fork();
		if (child == 0)
			_exit(compare(p, n));
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
		/* 2: the kernel does not take this one */
		CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2);
		agreed += WEXITSTATUS(status) == 0;
		below(2);
	}
	CHECK(agreed > PROGRAMS / 2);
}

/* What is no program kills, as nothing that can be told is safe. */
TEST(what_is_no_filter_kills)
{
	struct seccomp_data data = { .nr = 1 };
	struct sock_filter odd[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 62),
				     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_filter endless[] = { BPF_STMT(BPF_LD | BPF_W | BPF_IMM, 1) };

	CHECK(inject_filter_run(NULL, 0, &data) == SECCOMP_RET_KILL_PROCESS);
	CHECK(inject_filter_run(odd, 2, &data) == SECCOMP_RET_KILL_PROCESS);
	CHECK(inject_filter_run(endless, 1, &data) == SECCOMP_RET_KILL_PROCESS);
}
