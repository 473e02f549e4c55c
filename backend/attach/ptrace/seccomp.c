/* SPDX-License-Identifier: MIT
 *
 * seccomp.c - runs a process' seccomp filters on the system calls of dlopen and memtop_attach
 * before any of them is made: a filter that kills cannot be probed by a call (seccomp(2); classic
 * BPF as the kernel allows it there, net/core/filter.c, seccomp_check_filter()).
 *
 * Only root may read filters. All of them apply, and the harshest answer counts. A filter that
 * makes a call fail with an errno does no harm: the loader or the agent reports it. Only calls of
 * the process' own threads matter: the agent's server is a separate process, whose end harms
 * nothing.
 */
#include "attach/ptrace/stopped_process.h"

#include <errno.h>
#include <linux/audit.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#ifdef __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH AUDIT_ARCH_X86_64
#endif
#define GET_FILTER 0x420c /* PTRACE_SECCOMP_GET_FILTER */
#define FILTERS_MAX 64
#define STEPS_MAX 100000 /* jumps only go forward; no program is longer */

static const struct {
	const char *name;
	int nr;
	uint64_t args[6];
} calls[] = {
	{ "mmap",
	  SYS_mmap,
	  { 0, 266240, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    (uint64_t)-1 } },
	{ "mmap", SYS_mmap, { 0, 266240, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 3 } },
	{ "mprotect", SYS_mprotect, { 0x10000, 4096, PROT_READ } },
	{ "munmap", SYS_munmap, { 0x10000, 4096 } },
	{ "madvise", SYS_madvise, { 0x10000, 4096, MADV_DONTDUMP } },
	{ "mincore", SYS_mincore, { 0x10000, 4096, 0x10000 } },
	{ "openat", SYS_openat, { (uint64_t)-100, 0x10000, 02000000 } },
	{ "read", SYS_read, { 3, 0x10000, 832 } },
	{ "pread64", SYS_pread64, { 3, 0x10000, 832, 64 } },
	{ "readlinkat", SYS_readlinkat, { (uint64_t)-100, 0x10000, 0x10000, 64 } },
	{ "newfstatat", SYS_newfstatat, { 3, 0x10000, 0x10000, 0x1000 } },
	{ "fstat", SYS_fstat, { 3, 0x10000 } },
	{ "close", SYS_close, { 3 } },
	{ "futex", SYS_futex, { 0x10000, 129, 1 } },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, { 0, 0x10000, 0x10000, 8 } },
	{ "rt_sigaction", SYS_rt_sigaction, { 11, 0x10000, 0, 8 } },
	{ "prlimit64", SYS_prlimit64, { 0, 9, 0, 0x10000 } },
	{ "prctl", SYS_prctl, { 15, 0x10000 } },
	{ "membarrier", SYS_membarrier, { 0 } },
	{ "getpid", SYS_getpid, { 0 } },
	{ "gettid", SYS_gettid, { 0 } },
	{ "geteuid", SYS_geteuid, { 0 } },
	{ "clone", SYS_clone, { CLONE_VM | CLONE_VFORK } },
	{ "wait4", SYS_wait4, { 2, 0x10000, 0x80000000 } },
	{ "ppoll", SYS_ppoll, { 0, 0, 0x10000 } },
};

static uint32_t load(const struct seccomp_data *data, uint32_t at, bool *bad)
{
	uint32_t v = 0;

	*bad |= at > sizeof *data - 4 || at % 4;
	if (!*bad)
		memcpy(&v, (const char *)data + at, 4);
	return v;
}

static uint32_t alu(uint16_t op, uint32_t a, uint32_t b, bool *bad)
{
	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_AND: return a & b;
	case BPF_OR: return a | b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	case BPF_NEG: return -a;
	default: *bad = true; return 0;
	}
}

static bool jumps(uint16_t op, uint32_t a, uint32_t b, bool *bad)
{
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JSET: return (a & b) != 0;
	default: *bad = true; return false;
	}
}

uint32_t inject_filter_run(const struct sock_filter *program, size_t length,
			   const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = { 0 };
	bool bad = false;

	for (size_t pc = 0, n = 0; pc < length && !bad && n < STEPS_MAX; pc++, n++) {
		const struct sock_filter *f = &program[pc];
		uint32_t b = BPF_SRC(f->code) == BPF_X ? x : f->k;
		uint32_t *cell = &memory[f->k < BPF_MEMWORDS ? f->k : 0];

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX: {
			uint32_t v = BPF_MODE(f->code) == BPF_ABS   ? load(data, f->k, &bad)
				     : BPF_MODE(f->code) == BPF_LEN ? (uint32_t)sizeof *data
				     : BPF_MODE(f->code) == BPF_MEM ? *cell
								    : f->k;
			if (BPF_CLASS(f->code) == BPF_LD)
				a = v;
			else
				x = v;
			break;
		}
		case BPF_ST: *cell = a; break;
		case BPF_STX: *cell = x; break;
		case BPF_ALU: a = alu(BPF_OP(f->code), a, b, &bad); break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				pc += f->k;
			else
				pc += jumps(BPF_OP(f->code), a, b, &bad) ? f->jt : f->jf;
			break;
		case BPF_RET: return BPF_RVAL(f->code) == BPF_A ? a : f->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(f->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool is_deadly(uint32_t answer)
{
	uint32_t action = answer & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
	       action == SECCOMP_RET_TRAP;
}

enum inject_verdict inject_seccomp(pid_t tid, const char **call)
{
	enum inject_verdict verdict = VERDICT_UNKNOWN;

	for (long i = 0; i < FILTERS_MAX; i++) {
		long length = ptrace((enum __ptrace_request)GET_FILTER, tid, (void *)i, NULL);
		if (length < 0 && errno == ENOENT && i) /* past the last one */
			return VERDICT_FREE;
		if (length <= 0)
			return VERDICT_UNKNOWN;
		struct sock_filter *program = xcalloc((size_t)length, sizeof *program);
		length = ptrace((enum __ptrace_request)GET_FILTER, tid, (void *)i, program);
		for (size_t c = 0;
		     length > 0 && c < sizeof calls / sizeof *calls && verdict != VERDICT_DEADLY;
		     c++) {
			struct seccomp_data data = { .nr = calls[c].nr,
						     .arch = ARCH,
						     .instruction_pointer = 0x10000 };
			memcpy(data.args, calls[c].args, sizeof data.args);
			if (is_deadly(inject_filter_run(program, (size_t)length, &data))) {
				*call = calls[c].name;
				verdict = VERDICT_DEADLY;
			}
		}
		free(program);
		if (verdict == VERDICT_DEADLY)
			return verdict;
	}
	return VERDICT_UNKNOWN;
}
