/* SPDX-License-Identifier: MIT
 *
 * clone.c - clone(2) for the server: a process or a thread with a thread pointer of its own.
 *
 * libc's function makes the call, except on musl: since 1.2.5 (Alpine 3.20) its clone() refuses
 * CLONE_SETTLS and CLONE_THREAD, which the server needs. This file then makes the system call
 * itself. The child starts in `run` on its stack and exits with run's result.
 */
#include "base/clone.h"
#include "base/types.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && !defined(__GLIBC__) && !defined(__BIONIC__)
int mt_prim_clone(int (*run)(void *), void *stack, int flags, void *arg, void *parent_tid,
		  void *tls, void *child_tid)
{
	uintptr_t *top = (uintptr_t *)((uintptr_t)stack & ~(uintptr_t)15) - 2;
	register long r10 __asm__("r10") = (long)child_tid;
	register long r8 __asm__("r8") = (long)tls;
	long ret;

	top[0] = (uintptr_t)arg;
	top[1] = (uintptr_t)run;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rdi\n\t"
			 "pop %%rax\n\t"
			 "call *%%rax\n\t"
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)SYS_clone), "D"((long)flags), "S"(top), "d"(parent_tid),
			   "r"(r10), "r"(r8), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	return (int)ret;
}
#else
int mt_prim_clone(int (*run)(void *), void *stack, int flags, void *arg, void *parent_tid,
		  void *tls, void *child_tid)
{
	int tid = clone(run, stack, flags, arg, parent_tid, tls, child_tid);

	return tid < 0 ? -errno : tid;
}
#endif
