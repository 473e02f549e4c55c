/* SPDX-License-Identifier: MIT
 *
 * x86_64.c - x86-64's registers for attach/ptrace/arch.h (psABI 3.2; the kernel's signal frame).
 *
 * orig_rax marks a thread that was stopped in a system call: the kernel restarts that call when the
 * thread continues with rax = -ERESTART*. An injected call must not be taken for one: it sets
 * orig_rax = -1.
 */
#ifdef __x86_64__
#include "attach/ptrace/arch.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/user.h>

const bool inject_arch_here = true;

const struct inject_set inject_sets[INJECT_SETS] = { { NT_PRSTATUS, true },
						     { NT_X86_XSTATE, true } };

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
	(void)tid; /* orig_rax is one of the registers */
}

uint64_t inject_regs_pc(const struct inject_regs *r)
{
	return get(r)->rip;
}

uint64_t inject_regs_sp(const struct inject_regs *r)
{
	return get(r)->rsp;
}

uint64_t inject_regs_result(const struct inject_regs *r)
{
	return get(r)->rax;
}

uint64_t inject_regs_arg(const struct inject_regs *r, int n)
{
	return n == 0 ? get(r)->rdi : n == 1 ? get(r)->rsi : get(r)->rdx;
}

long inject_regs_syscall(const struct inject_regs *r, const uint8_t *code, bool *eintr)
{
	long rax = (long)get(r)->rax, nr = (long)get(r)->orig_rax;

	(void)code;
	*eintr = rax == -EINTR;
	/* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK of the kernel */
	if (nr >= 0 && (*eintr || rax == -512 || rax == -513 || rax == -514 || rax == -516))
		return nr;
	*eintr = false;
	return -1;
}

bool inject_regs_again(struct inject_regs *r)
{
	/* ERESTARTNOHAND: the kernel makes the call again, unless a handler comes first: then it
	 * returns EINTR after all */
	gp(r)->rax = (unsigned long long)-514;
	return true;
}

void inject_regs_call(struct inject_regs *r, uint64_t fn, uint64_t a, uint64_t b, uint64_t top,
		      uint64_t *at)
{
	struct user_regs_struct *g = gp(r);

	*at = top - 8; /* a function is entered with rsp + 8 aligned */
	g->rsp = *at;
	g->rip = fn;
	g->rdi = a;
	g->rsi = b;
	g->rax = 0;
	g->rbp = 0;
	g->orig_rax = (unsigned long long)-1;
	g->eflags &= ~0x500ull; /* trap and direction: the latter is clear at a call */
}

void inject_regs_set_syscall(struct inject_regs *r, uint64_t gadget, long nr,
			     const uint64_t args[6])
{
	struct user_regs_struct *g = gp(r);

	g->rip = gadget;
	g->rax = (unsigned long long)nr;
	g->orig_rax = (unsigned long long)-1;
	g->rdi = args[0];
	g->rsi = args[1];
	g->rdx = args[2];
	g->r10 = args[3];
	g->r8 = args[4];
	g->r9 = args[5];
}

long inject_find_gadget(const uint8_t *code, size_t bytes)
{
	const uint8_t *p = memmem(code, bytes, "\x0f\x05", 2);

	return p ? p - code : -1;
}

bool inject_is_sigreturn(const uint8_t *code)
{
	/* mov $15, %rax; syscall */
	return !memcmp(code, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
}

uint64_t inject_frame_pc(uint64_t at)
{
	/* struct rt_sigframe: uc_flags, uc_link, uc_stack, then gregs[REG_RIP] */
	return at + 8 + 40 + 16 * 8;
}
#else
typedef int inject_other_machine; /* a file is not empty in C */
#endif
