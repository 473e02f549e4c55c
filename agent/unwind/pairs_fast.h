/* SPDX-License-Identifier: MIT
 *
 * pairs_fast.h - do the words of a remembered stack still have their values?
 *
 * The comparison begins with the innermost pair, and the first difference ends it, so it reads no
 * word that a walk would not read. It jumps to the first comparison needed: the addresses are
 * constants then, without a loop counter. On x86-64 each comparison has PAIR_CODE bytes, so a hit
 * holds the distance to its first one. A compiler's jump table costs two instructions and a load
 * more, and a stack that depends on the frame pointer compares that only by going another way.
 */
#ifndef MT_UNWIND_PAIRS_FAST_H
#define MT_UNWIND_PAIRS_FAST_H

#include "base/compiler.h"
#include "base/types.h"

MT_INLINE bool pair_holds(const struct pair *p)
{
	return likely(((const uintptr_t *)p->end)[-1] == p->is);
}

/* Bytes of code: of a comparison (two loads, a comparison, a jump); of the jump ahead of all that a
 * deep stack takes; and ahead of that, of the frame pointer's comparison, which goes on at
 * pairs_at.
 */
#define PAIR_CODE 24
#define DEEP_CODE 5
#define FP_CODE 32

_Static_assert(HIT_PAIRS == 30, "one comparison for each");
/* clang-format off */
#if defined(__x86_64__)
#define TO_END ".long %l[differs] - . - 4\n\t"
#define COMPARE(i) \
	"mov %c[own]+8+16*" #i "(%[h]), %%rdx\n\t" \
	"mov %c[own]+16*" #i "(%[h]), %%r10\n\t" \
	"cmp %%r10, -8(%%rdx)\n\t" \
	".byte 0x0f, 0x85\n\t" TO_END /* jne, of one length */
#define COMPARE3(a, b, c) COMPARE(a) COMPARE(b) COMPARE(c)

/* False for a deep stack. */
MT_INLINE bool unwind_words_hold(const struct hit *h, uintptr_t fp)
{
	_Static_assert(offsetof(struct hit, own) >= 128, "the loads have one length");
	__asm__ goto(
		"lea 2f(%%rip), %%rdx\n\t"
		"add %c[first](%[h]), %%rdx\n\t"
		"jmp *%%rdx\n"
		"1:\n\t"
		"cmp %[fp], %c[hit_fp](%[h])\n\t"
		".byte 0x0f, 0x85\n\t" TO_END
		"lea 2f(%%rip), %%rdx\n\t"
		"movslq %c[pairs_at](%[h]), %%r10\n\t"
		"add %%r10, %%rdx\n\t"
		"jmp *%%rdx\n\t"
		".org 1b + %c[fp_code]\n\t"
		".byte 0xe9\n\t" TO_END
		"2:\n\t"
		COMPARE3(29, 28, 27) COMPARE3(26, 25, 24) COMPARE3(23, 22, 21) COMPARE3(20, 19, 18)
		COMPARE3(17, 16, 15) COMPARE3(14, 13, 12) COMPARE3(11, 10, 9) COMPARE3(8, 7, 6)
		COMPARE3(5, 4, 3) COMPARE3(2, 1, 0)
		".org 2b + %c[pair_code] * 30" /* an error, or zeros that fault, if they have not */
		: : [h] "R"(h), [fp] "r"(fp), [own] "i"(offsetof(struct hit, own)),
		  [first] "i"(offsetof(struct hit, first)), [hit_fp] "i"(offsetof(struct hit, fp)),
		  [pairs_at] "i"(offsetof(struct hit, pairs_at)), [fp_code] "i"(FP_CODE),
		  [pair_code] "i"(PAIR_CODE)
		: "rdx", "r10", "cc", "memory"
		: differs);
	return true;
differs:
	return false;
}
#else
#define HOLDS(i) case (i) + 1: if (!pair_holds(&p[i])) return false; __attribute__((fallthrough));
#define HOLD4(i) HOLDS((i) + 3) HOLDS((i) + 2) HOLDS((i) + 1) HOLDS(i)
/* False for a deep stack. */
MT_INLINE bool unwind_words_hold(const struct hit *h, uintptr_t fp)
{
	const struct pair *p = h->own;

	if (unlikely((h->fp ^ fp) & (uintptr_t)h->first))
		return false;
	switch (h->few) {
	HOLDS(29) HOLDS(28)
	HOLD4(24) HOLD4(20) HOLD4(16) HOLD4(12) HOLD4(8) HOLD4(4) HOLD4(0)
	case 0:
		return true;
	case HIT_DEEP:
		return false;
	}
	__builtin_unreachable();
}
#endif
/* clang-format on */

/* Where the comparison begins: with h->few pairs, or none for a deep stack; needs_fp: with the
 * frame pointer. */
MT_INLINE void unwind_begin_at(struct hit *h, bool needs_fp)
{
#if defined(__x86_64__)
	h->pairs_at = h->few == HIT_DEEP ? -DEEP_CODE : PAIR_CODE * (HIT_PAIRS - h->few);
	h->first = needs_fp ? -(DEEP_CODE + FP_CODE) : h->pairs_at;
#else
	h->pairs_at = 0;
	h->first = -(intptr_t)needs_fp;
#endif
	h->needs_fp = needs_fp;
}

#endif
