/* SPDX-License-Identifier: MIT
 *
 * arch.h - the registers of a stopped thread and how injection changes them: the only part of
 * injection that depends on the machine. One interface with two implementations,
 * attach/ptrace/x86_64.c and attach/ptrace/aarch64.c; each is empty on the other machine.
 *
 * All functions take a stopped thread that the caller traces, run in the tracing process
 * (attach/ptrace/inject.h), and return 0 or -errno.
 */
#ifndef ATTACH_PTRACE_ARCH_H
#define ATTACH_PTRACE_ARCH_H

#include "base/base.h"
#include <sys/types.h>

#define INJECT_SETS 3
#define INJECT_SET_BYTES 16384 /* AMX tiles and AVX-512 have 11 KiB */
#define INJECT_CODE_BYTES 16   /* of machine code around the pc: half of it before */

/* All registers that a function call may change, as the kernel reports them: general, floating
 * point, vector. */
struct inject_regs {
	size_t bytes[INJECT_SETS]; /* 0 = this machine has no such set */
	uint8_t set[INJECT_SETS][INJECT_SET_BYTES] __attribute__((aligned(16)));
};

/* The kernel's register sets of this machine (NT_*), in the order in which they are written. */
struct inject_set {
	unsigned type; /* 0 = there are no more */
	bool always;   /* false: some machines lack it */
};

extern const bool inject_arch_here; /* does memtop know this machine's calls? */
extern const struct inject_set inject_sets[INJECT_SETS];

/* Keeps the kernel from restarting a system call with the written registers. Part of
 * inject_regs_write() (attach/ptrace/regs.c). */
void inject_regs_forget_call(pid_t tid);
uint64_t inject_regs_pc(const struct inject_regs *r);
uint64_t inject_regs_sp(const struct inject_regs *r);
uint64_t inject_regs_result(const struct inject_regs *r);
uint64_t inject_regs_arg(const struct inject_regs *r, int n); /* of a system call, n < 3 */

/*
 * The system call that the stop interrupted, -1 = none. Written back unchanged, the registers make
 * the kernel restart it, unless *eintr: then the call has returned EINTR because of the stop,
 * without a signal (epoll_wait). code: INJECT_CODE_BYTES around the pc.
 */
long inject_regs_syscall(const struct inject_regs *r, const uint8_t *code, bool *eintr);
/* Makes the kernel restart such a call, unless a signal handler comes first and ends it as
 * usual. false: its arguments are lost. */
bool inject_regs_again(struct inject_regs *r);

/*
 * Sets up fn(a, b) on the stack that ends at `top` (16-aligned). On return it stops with SIGSEGV at
 * pc 0. The machine may need a stack word for the return address: write *word = 0 at *at, unless
 * *at is 0.
 */
void inject_regs_call(struct inject_regs *r, uint64_t fn, uint64_t a, uint64_t b, uint64_t top,
		      uint64_t *at);
/* Sets up the system call nr(args) at the instruction at `gadget`. */
void inject_regs_set_syscall(struct inject_regs *r, uint64_t gadget, long nr,
			     const uint64_t args[6]);

/* Offset of a system call instruction in machine code, -1 = none. */
long inject_find_gadget(const uint8_t *code, size_t bytes);
/* Does this code return from a signal handler? Needs at least 16 bytes. */
bool inject_is_sigreturn(const uint8_t *code);
/* Where the frame of a handler, found by the address `at` of its return address, keeps the pc that
 * was interrupted; 0 = unknown. */
uint64_t inject_frame_pc(uint64_t at);

#endif
