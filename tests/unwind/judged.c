/* SPDX-License-Identifier: MIT
 *
 * judged.c - one file of the agent's hooks (HOOKS names it), with a call to the judge (judge.c) for
 * each booked block.
 *
 * The calls that end a hook stay the same, with the caller's registers and the same inlining, so
 * the judge sees the stacks that the program's blocks are really counted under, remembered or not.
 */
#include "hooks/caller.h" /* what HOOKS includes comes before the names change */
#include "base/compiler.h"
#include "base/types.h"
#include "unwind/cache.h"

void *mt_judge(struct thread *t, void *p, uint64_t passes, uintptr_t pc, uintptr_t sp,
	       uintptr_t fp);

/* How many stacks the thread has captured. */
MT_INLINE uint64_t captured(const struct thread *t)
{
	return t->unwind ? t->unwind->passes : 0;
}

#define JUDGED(record)                                                                             \
	MT_INLINE void *judged_##record(struct thread *t, void *p, size_t bytes, uintptr_t pc,     \
					uintptr_t sp, uintptr_t fp)                                \
	{                                                                                          \
		uint64_t before = captured(t);                                                     \
		record(t, p, bytes, pc, sp, fp);                                                   \
		return mt_judge(t, p, captured(t) - before, pc, sp, fp);                           \
	}
JUDGED(record_alloc)
JUDGED(mt_record_alloc)
#define record_alloc judged_record_alloc
#define mt_record_alloc judged_mt_record_alloc

#include HOOKS
