/* SPDX-License-Identifier: MIT
 *
 * origins.h - what the blocks of one slot, birth tick and thread share, under a number.
 *
 * An entry of a small block has four bytes, and so the number of its origin instead of that. The
 * thread takes a number when it first needs one for a slot in a tick, and keeps it in the page of
 * that slot's counters: `origins_of` says of which round, tick and thread the page's numbers are.
 * Only the thread itself does so, within its guard and in no nested event.
 *
 * THE TABLE. mt_live_open->origin[number]. The word is written before the number is handed out, so
 * who reads an entry (acquire) reads its origin.
 *
 * USED AGAIN. The server gives back numbers that no block has any more, in rounds:
 *   1. it notes which numbers have been handed out so far, begins a round, and with it an era. Of
 *      these numbers it may give back those of an earlier tick, those whose origin was never
 *      written, and those of the round before: a word has the low bit of its round, so one that
 *      stays in use for longer is passed over in every second round;
 *   2. sees each thread outside its guard after a memory barrier of all (mt_live_quiescent());
 *   3. marks the numbers in all small leaves, some leaves at a time;
 *   4. gives back the candidates without a mark.
 * A candidate that is in the map in 4 was there all through 3. For no thread enters one after 2: a
 * thread takes the number from its page or from a hit, and uses neither past the tick or the round.
 * mt_era moves with both, so a hit of an older era is renewed; an event that read the old era, tick
 * or round had its guard set and was waited for, and with it the number that it was just taking.
 * Entries that no number of the present fits (restored, nested, without a state) are wide ones, and
 * have none. So only frees change what 3 sees, and a mark too many costs a round. (The round is
 * there because several may fall into a tick, and the last tick never ends.)
 *
 * Who frees a block reads its origin first, and then takes the entry out: the store depends on what
 * was read. So when the server finds the entry gone, the origin has been read.
 *
 * FREE NUMBERS are a stack, linked through the table (ORIGIN_FREE). Threads pop, only the server
 * pushes. The head has a count of its pops: another thread's pop and the server's push between a
 * load of the head and its compare-and-swap change it (2^32 pops in that time would be needed to
 * bring it back, some minutes at full speed for one instruction).
 *
 * LEFT BEHIND. A signal handler that leaves by a jump, or a fork in the middle of a pop, loses the
 * number popped. A new session (mt_origins_restart()) drops the table and begins a round, and no
 * number of the old one is handed out before it was found in no entry.
 *
 * WITHOUT A NUMBER. When all are taken (without membarrier none comes back), a block gets a wide
 * entry: the number ORIGIN_WIDE, whose origin is 0, and its own eight bytes in a wide leaf.
 */
#ifndef MT_LIVE_ORIGINS_H
#define MT_LIVE_ORIGINS_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"
#include "live/ticks.h"

#define ORIGIN_NONE 0u
#define ORIGIN_WIDE 1u
#define ORIGIN_FIRST 2u
#define ORIGIN_FREE ((uint64_t)1 << 63) /* the low half is the next one that is free */
#define ORIGIN_ROUND ((uint64_t)1 << 62)

#pragma GCC visibility push(hidden)
/* The whole small leaves; the origins. */
extern struct live_open *_Atomic mt_live_open;

/* The entry, without a size, of blocks of `slot` that are `born` so; 0: there is no number. The
 * guard of the page's thread is set. */
uint32_t mt_origins_entry(struct counter_page *page, slot_id slot, uint64_t born);
uint32_t mt_origins_entry_of_one(const struct thread *t, slot_id slot); /* ... of one block */
void mt_origins_restart(void);                                          /* no thread counts */

/* The rest is for the server thread, and live/reclaim.c. */
struct round {
	uint32_t end;  /* the numbers below it had been handed out when it began */
	uint32_t tick; /* the tick then */
};
struct round mt_origins_begin(void);
/* Gives back what is over and has no mark (a bit for each number); returns how many are in use. */
uint32_t mt_origins_sweep(struct round r, const uint64_t *mark);
/* Numbers that are linked already, from the top of the stack down. */
void mt_origins_give_back(uint32_t top, uint32_t bottom);
void mt_origins_forked(void);  /* the child's: what the parent's was giving back */
uint32_t mt_origins_end(void); /* numbers that were handed out are below it */
/* How many were taken since the start, with those that were given back in between. */
uint64_t mt_origins_taken(void);
bool mt_origins_left(void);
#pragma GCC visibility pop

/* What the numbers of a page are of, never 0. */
MT_INLINE uint64_t origins_born(const struct thread *t)
{
	return atomic_load_explicit(&mt_live_now, memory_order_relaxed) |
	       atomic_load_explicit(&t->xindex, memory_order_relaxed);
}

/* The entry, without a size, of a block of `slot` that t allocates now; 0: it has to be a wide one.
 * The page is t's, of that slot; t's guard is set by this event. */
MT_INLINE uint32_t live_entry(const struct thread *t, struct counter_page *page, slot_id slot)
{
	uint64_t born = origins_born(t);
	uint32_t entry = page->origin[slot % PAGE_SLOTS];

	if (likely(page->origins_of == born && entry))
		return entry;
	return mt_origins_entry(page, slot, born);
}

#endif
