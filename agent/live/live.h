/* SPDX-License-Identifier: MIT
 *
 * live.h - the live map: address -> entry.
 */
#ifndef MT_LIVE_LIVE_H
#define MT_LIVE_LIVE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_live_ready(const void *p, size_t size); /* makes room for an entry; false: no memory */

enum live_entered {
	LIVE_ENTERED,
	LIVE_OCCUPIED, /* ... where *old was, which was freed unseen */
	LIVE_NO_ROOM,  /* it has no entry: no memory */
};
/* After the real malloc, before the program sees the block; after mt_live_ready(). `origin`, for a
 * small one: of live_entry() (live/origins.h), or LIVE_OF_ITS_OWN, by t itself, whose guard this
 * event has set; 0 by anyone. */
#define LIVE_OF_ITS_OWN 1u
enum live_entered mt_live_enter(const struct thread *t, void *p, size_t size, slot_id slot,
				uint32_t origin, struct block *old);
struct block mt_live_take(const void *p); /* before the real free */
enum live_entered mt_live_restore(const struct thread *t, void *p, const struct block *b,
				  struct block *old);
bool mt_live_peek(const void *p, struct block *b);
bool mt_live_knows(const void *p);       /* ... without its contents: mostly for filtered blocks */
bool mt_live_knows_large(const void *p); /* ... where no small block has an entry */
void mt_live_dense(void);                /* no longer sampled; server thread: live/sampled.h */
void mt_live_suspect(void);              /* blocks may be freed unseen: check each closely */

#pragma GCC visibility pop

#endif
