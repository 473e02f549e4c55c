/* SPDX-License-Identifier: MIT
 *
 * record.h - the calls by which a hook records a block, on the block's thread.
 */
#ifndef MT_RECORD_RECORD_H
#define MT_RECORD_RECORD_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void mt_record_restart(void); /* another session: resets losses and what filters left out, while no
				 thread counts */
uint64_t mt_record_seen(const struct thread *t); /* changes with every allocation on t */
/* The stack of t's event, which is counted in c (guard_in()): short where another was interrupted.
 */
node_id mt_record_node(struct thread *t, const struct thread *c, const struct regs *r);
/* The caller's pc, sp and fp as in struct regs. Returns p. */
void *mt_record_alloc(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
		      uintptr_t fp);
void mt_record_free(struct thread *t, void *p); /* and then lets the real allocator free it */
/* realloc: retire, count later. false: the block is not the real allocator's, leave it alone */
bool mt_record_take(struct thread *t, void *p, struct block *b);
void mt_record_gone(struct thread *t, const struct block *b);             /* ... it was freed */
void mt_record_restore(struct thread *t, void *p, const struct block *b); /* ... it was not */

/* The real call failed. Sampling counts sizes down before it, so a sample that fails is used up
 * like any other: else failing calls would only bring the next sample nearer. */
void mt_record_failed(struct thread *t, size_t bytes);

#pragma GCC visibility pop

#endif
