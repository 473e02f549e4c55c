/* SPDX-License-Identifier: MIT
 *
 * live.h - the live map: address -> entry.
 */
#ifndef MT_RECORD_LIVE_H
#define MT_RECORD_LIVE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_live_init(unsigned granule_bytes);
bool mt_live_ready(const void *p, size_t size); /* makes room for an entry; false: no memory */
/* After the real malloc, before the program sees the block. True: occupied, *old was freed unseen.
 */
bool mt_live_enter(const struct thread *t, void *p, size_t size, slot_id slot, struct block *old);
struct block mt_live_take(const void *p); /* before the real free */
bool mt_live_restore(const struct thread *t, void *p, const struct block *b, struct block *old);
bool mt_live_peek(const void *p, struct block *b);
bool mt_live_knows(const void *p);       /* ... without its contents: mostly for filtered blocks */
bool mt_live_knows_large(const void *p); /* ... where no small block has an entry */
void mt_live_restart(void);              /* call when no block is live and no thread enters one */
void mt_live_dense(void);   /* no longer sampled; server thread: record/live_sampled.h */
void mt_live_suspect(void); /* blocks may be freed unseen: check each closely */
/* addr: of a small block, rounded to the granule. Leaf by leaf, ascending within one. Server
 * thread. */
void mt_live_scan(void (*visit)(void *arg, uintptr_t addr, const struct block *b), void *arg);
uint32_t mt_live_tick(void);                      /* current birth tick */
uint64_t mt_live_tick_ns(uint32_t tick);          /* when it began, ns since start */
void mt_live_advance(uint64_t now_ns, bool mark); /* server thread; ns since start */

#pragma GCC visibility pop

#endif
