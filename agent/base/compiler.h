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
#define MT_EXPORT __attribute__((visibility("default")))
#define MT_PRINTF(a, b) __attribute__((format(printf, a, b)))

#endif
