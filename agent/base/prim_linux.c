/* SPDX-License-Identifier: MIT
 *
 * prim_linux.c - the agent's only system calls, made without libc's wrappers.
 *
 * The wrappers write errno and are cancellation points, and the server runs with a thread pointer
 * of its own. Hooks use only mmap, munmap and madvise from this file. Any allocator makes these
 * calls, so a seccomp filter written for the program also admits the agent. The clock comes from
 * libc's vDSO entry, which makes no system call.
 *
 * mt_prim_readable() uses MADV_POPULATE_READ, which acts as a load but reports a fault as an error.
 * Kernels before 5.14 lack it, and emulators (qemu-user) accept any advice and do nothing, even at
 * address 0. There rt_sigprocmask answers: it reads the mask before it rejects the invalid `how`.
 * Every program with threads makes that call, so filters admit it; they often refuse
 * process_vm_readv.
 */
#include "base/prim_linux.h"
#include "base/compiler.h"
#include "base/syscalls.h"
#include "base/types.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/auxv.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define PROBE_PAGE 4096u /* the smallest page of any machine that we run on */

enum probe { PROBE_UNKNOWN = 0, PROBE_POPULATE, PROBE_MASK };

static _Atomic int xprobe; /* enum probe: this kernel's support, learnt on first use */
/* with PROBE_POPULATE: its pages, which may be larger, and which an advice begins with */
static _Atomic uintptr_t xpage;

#if defined(__x86_64__)
long mt_prim_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
long mt_prim_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#elif defined(__arm__)
/* r7 may be the frame pointer: the number is put there for the call alone. */
long mt_prim_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = a;
	register long r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	register long r4 __asm__("r4") = e;
	register long r5 __asm__("r5") = f;
	register long number __asm__("r6") = nr;

	__asm__ volatile("mov ip, r7; mov r7, %1; svc #0; mov r7, ip"
			 : "+r"(r0)
			 : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
			 : "ip", "memory");
	return r0;
}
#else
#error "mt_prim_call: no system call sequence for this machine"
#endif

int mt_prim_result(long rc)
{
	if (rc >= 0)
		return (int)rc;
	errno = (int)-rc;
	return -1;
}

/* Android runs every app under a filter that admits the calls that its libc has functions for, and
 * kills the process for any other. All older versions lack the newer calls, and all versions lack
 * kcmp. */
long mt_prim_call_seldom(long nr, long a, long b, long c)
{
#ifdef __BIONIC__
	if (mt_prim_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0)
		return -ENOSYS;
#endif
	return mt_prim_call(nr, a, b, c, 0, 0, 0);
}

/* A position of 64 bits is a pair of registers on 32-bit machines: an even one first, on ARM. */
long mt_prim_read_at(long fd, void *to, size_t bytes, uint64_t at)
{
#if defined(__arm__)
	return mt_prim_call(SYS_pread64, fd, (long)to, (long)bytes, 0, (long)(uint32_t)at,
			    (long)(at >> 32));
#else
	return mt_prim_call(SYS_pread64, fd, (long)to, (long)bytes, (long)at, 0, 0);
#endif
}

static bool failed(long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095L;
}

static long advise(const void *p, size_t bytes, int advice)
{
	return mt_prim_call(SYS_madvise, (long)p, (long)bytes, advice, 0, 0, 0);
}

size_t mt_prim_page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

/*
 * The expedited one takes microseconds (Linux 4.14, after the process has registered). The one of
 * all processes takes milliseconds and needs no more than 4.3; it is refused where processors run
 * without ticks. Before that: none.
 */
bool mt_prim_barrier(void)
{
	long done = mt_prim_call_seldom(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	if (!done || done == -ENOSYS)
		return !done;
	if (!mt_prim_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0,
			  0) &&
	    !mt_prim_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0))
		return true;
	/* CMD_GLOBAL of later headers */
	return !mt_prim_call(SYS_membarrier, MEMBARRIER_CMD_SHARED, 0, 0, 0, 0, 0);
}

void mt_prim_drop(void *p, size_t bytes)
{
	if (failed(advise(p, bytes, MADV_DONTNEED)))
		memset(p, 0, bytes); /* locked pages (mlockall) stay where they are */
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

MT_FORK_CODE uint64_t mt_prim_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

MT_FORK_CODE uint64_t mt_prim_coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t mt_prim_unix_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/*
 * Not nanosleep: the kernel prepares a thread's restart of that as it begins, and a thread which
 * was taken out of a wait of its own to run memtop_attach() would find its own restart gone, and
 * EINTR.
 */
void mt_prim_sleep(uint64_t ns)
{
	/* is written to */
	struct {
		long sec, nsec;
	} rest = { (long)(ns / 1000000000u), (long)(ns % 1000000000u) };

	mt_prim_call(SYS_ppoll, 0, 0, (long)&rest, 0, 0, 0);
}

MT_FORK_CODE int mt_prim_getpid(void)
{
	return (int)mt_prim_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

int mt_prim_gettid(void)
{
	return (int)mt_prim_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static bool is_mask(uintptr_t first, uintptr_t last)
{
	for (uintptr_t page = first; page <= last; page += PROBE_PAGE)
		/* 0 would be no mask */
		if (mt_prim_call(SYS_rt_sigprocmask, -1, (long)(page + 8), 0, 8, 0, 0) == -EFAULT)
			return false;
	return true;
}

static enum probe probe_kind(void)
{
	int kind = atomic_load_explicit(&xprobe, memory_order_acquire);

	if (likely(kind != PROBE_UNKNOWN))
		return kind;
	uintptr_t page = mt_prim_page_bytes(), here = (uintptr_t)&xprobe & ~(page - 1);
	atomic_store_explicit(&xpage, page, memory_order_relaxed);
	bool knows = !failed(advise((void *)here, 1, MADV_POPULATE_READ));
	kind = knows && failed(advise(NULL, 1, MADV_POPULATE_READ)) ? PROBE_POPULATE : PROBE_MASK;
	atomic_store_explicit(&xprobe, kind, memory_order_release);
	return kind;
}

bool mt_prim_readable(uintptr_t addr, size_t bytes)
{
	if (bytes == 0)
		return true;
	if (addr + bytes - 1 < addr)
		return false;
	uintptr_t first = addr & ~(uintptr_t)(PROBE_PAGE - 1);
	uintptr_t last = (addr + bytes - 1) & ~(uintptr_t)(PROBE_PAGE - 1);

	if (probe_kind() != PROBE_POPULATE)
		return is_mask(first, last);
	first &= ~(atomic_load_explicit(&xpage, memory_order_relaxed) - 1);
	return !failed(advise((void *)first, last - first + 1, MADV_POPULATE_READ));
}
