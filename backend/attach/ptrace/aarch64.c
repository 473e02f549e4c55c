/* SPDX-License-Identifier: MIT
 *
 * aarch64.c - AArch64's registers for attach/ptrace/arch.h (AAPCS64; the kernel's do_signal()).
 *
 * A thread stopped within a system call shows the pc at its svc instruction and the original x0, so
 * continuing makes the call again. Where the call returned EINTR for the stop, x0 is lost and the
 * EINTR stays.
 */
#ifdef __aarch64__
#include "attach/ptrace/arch.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

const bool inject_arch_here = true;

#define SVC 0xd4000001u
#define PSTATE_BTYPE (3ull << 10) /* a function may begin without a landing pad */

/* The last set, SVE, includes the vectors of the second where the machine has such a unit. */
const struct inject_set inject_sets[INJECT_SETS] = { { NT_PRSTATUS, true },
						     { NT_PRFPREG, true },
						     { 0x405 /* NT_ARM_SVE */, false } };

static struct user_regs_struct *gp(struct inject_regs *r)
{
	return (struct user_regs_struct *)(void *)r->set[0];
}

static const struct user_regs_struct *get(const struct inject_regs *r)
{
	return (const struct user_regs_struct *)(const void *)r->set[0];
}

void inject_regs_forget_call(pid_t tid)
{
	int none = -1;
	struct iovec call = { &none, sizeof none };

	ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &call);
}

uint64_t inject_regs_pc(const struct inject_regs *r)
{
	return get(r)->pc;
}

uint64_t inject_regs_sp(const struct inject_regs *r)
{
	return get(r)->sp;
}

uint64_t inject_regs_result(const struct inject_regs *r)
{
	return get(r)->regs[0];
}

uint64_t inject_regs_arg(const struct inject_regs *r, int n)
{
	return get(r)->regs[n];
}

static uint32_t word(const uint8_t *code)
{
	uint32_t w;

	memcpy(&w, code, sizeof w);
	return w;
}

long inject_regs_syscall(const struct inject_regs *r, const uint8_t *code, bool *eintr)
{
	*eintr = false;
	if (word(code + INJECT_CODE_BYTES / 2) == SVC)
		return (long)get(r)->regs[8];
	*eintr = word(code + INJECT_CODE_BYTES / 2 - 4) == SVC && (long)get(r)->regs[0] == -EINTR;
	return *eintr ? (long)get(r)->regs[8] : -1;
}

bool inject_regs_again(struct inject_regs *r)
{
	(void)r;
	return false;
}

void inject_regs_call(struct inject_regs *r, uint64_t fn, uint64_t a, uint64_t b, uint64_t top,
		      uint64_t *at)
{
	struct user_regs_struct *g = gp(r);

	*at = 0;
	g->sp = top;
	g->pc = fn;
	g->regs[0] = a;
	g->regs[1] = b;
	g->regs[29] = 0;
	g->regs[30] = 0;
	g->pstate &= ~PSTATE_BTYPE;
}

void inject_regs_set_syscall(struct inject_regs *r, uint64_t gadget, long nr,
			     const uint64_t args[6])
{
	struct user_regs_struct *g = gp(r);

	g->pc = gadget;
	g->regs[8] = (unsigned long long)nr;
	for (int i = 0; i < 6; i++)
		g->regs[i] = args[i];
	g->pstate &= ~PSTATE_BTYPE;
}

long inject_find_gadget(const uint8_t *code, size_t bytes)
{
	for (size_t i = 0; i + 4 <= bytes; i += 4)
		if (word(code + i) == SVC)
			return (long)i;
	return -1;
}

bool inject_is_sigreturn(const uint8_t *code)
{
	return word(code) == 0xd2801168 && word(code + 4) == SVC; /* mov x8, #139; svc #0 */
}

uint64_t inject_frame_pc(uint64_t at)
{
	(void)at; /* the return address is kept in a frame record, away from the signal frame */
	return 0;
}
#else
typedef int inject_other_machine; /* a file is not empty in C */
#endif
