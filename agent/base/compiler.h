/* SPDX-License-Identifier: MIT
 *
 * compiler.h - compiler attributes.
 */
#ifndef MT_BASE_COMPILER_H
#define MT_BASE_COMPILER_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define MT_COLD __attribute__((noinline, cold))
#define MT_INLINE static inline __attribute__((always_inline))
/* Computes the fifth argument of a later call here, once: compilers do so at each use where that is
 * one instruction. */
#if defined(__x86_64__)
#define in_register_of_fifth(x)                                                                    \
	do {                                                                                       \
		register uintptr_t r8 __asm__("r8") = (x);                                         \
		__asm__("" : "+r"(r8));                                                            \
		(x) = r8;                                                                          \
	} while (0)
#else
#define in_register_of_fifth(x) ((void)0)
#endif
/* MT_HOT: words that every event reads, and nothing else: they share a cache line.
 *
 * MT_FORK_CODE, MT_FORK_WORD: what each forked child runs and writes. A child pays a page fault for
 * each page that it writes, and for each 64K of code that it enters; so these lie side by side. */
#if defined(__ELF__) && !defined(__BIONIC__)
#define MT_HOT __attribute__((section("mt_hot")))
#define MT_FORK_CODE __attribute__((section("mt_fork_code")))
#define MT_FORK_WORD __attribute__((section("mt_fork_words")))
#else
#define MT_HOT
#define MT_FORK_CODE
#define MT_FORK_WORD
#endif
/* A builtin on x86-64 only from gcc 11 on. */
#if defined(__x86_64__)
MT_INLINE void *mt_thread_pointer(void)
{
	void *p;

	__asm__("mov %%fs:0, %0" : "=r"(p));
	return p;
}
#else
#define mt_thread_pointer() __builtin_thread_pointer()
#endif
#define MT_EXPORT __attribute__((visibility("default")))
#define MT_PRINTF(a, b) __attribute__((format(printf, a, b)))

#endif
