/* SPDX-License-Identifier: MIT
 *
 * wide.h - 128-bit products and quotients. 32-bit machines have no such type: there products are
 * made from halves (Knuth, The Art of Computer Programming 2, 4.3.1) and quotients bit by bit,
 * because only samples need them.
 */
#ifndef MT_BASE_WIDE_H
#define MT_BASE_WIDE_H

#include "base/compiler.h"
#include "base/types.h"

struct wide {
	uint64_t hi, lo;
};

MT_INLINE struct wide wide_times(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 v = (unsigned __int128)a * b;

	return (struct wide){ (uint64_t)(v >> 64), (uint64_t)v };
#else
	uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b;
	uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;

	return (struct wide){ a1 * b1 + (middle >> 32) + (other >> 32),
			      other << 32 | (uint32_t)low };
#endif
}

/* The lower 64 bits of v >> bits; 0 < bits < 64. */
MT_INLINE uint64_t wide_shift(struct wide v, unsigned bits)
{
	return v.hi << (64 - bits) | v.lo >> bits;
}

/* v / d, which must be below 2^64: v.hi < d. */
MT_INLINE uint64_t wide_over(struct wide v, uint64_t d)
{
#if defined(__SIZEOF_INT128__) &&                                                                  \
	!defined(__BIONIC__) /* calls the compiler's own library, which is absent */
	return (uint64_t)(((unsigned __int128)v.hi << 64 | v.lo) / d);
#else
	uint64_t rest = v.hi, quotient = 0;

	for (int bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;
		rest = rest << 1 | (v.lo >> bit & 1);
		if (carry || rest >= d) {
			rest -= d;
			quotient |= (uint64_t)1 << bit;
		}
	}
	return quotient;
#endif
}

#endif
