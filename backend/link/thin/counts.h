/* SPDX-License-Identifier: MIT
 *
 * counts.h - counters of slots from several frames: of each slot the last. Any thread.
 */
#ifndef LINK_THIN_COUNTS_H
#define LINK_THIN_COUNTS_H

#include "model/paths/types.h"

#include <memtop/wire.h>

struct count {
	uint32_t slot;
	uint32_t nth; /* of the list: the last one of a slot wins */
	struct tally now;
};

struct counts {
	struct count *list;
	size_t count, room, unique;
};

#define COUNTS_BATCH 4096u                    /* entries of a frame, and */
#define COUNTS_BYTES (COUNTS_BATCH * 50 + 10) /* their bytes at most */

void counts_add(struct counts *c, uint32_t slot, const struct tally *now);
void counts_settle(struct counts *c); /* in the order of their slots, the last of each */
/* Of settled ones, a frame's entries from `from` on: n x { +slot, 4 counters }. Where the next
 * frame's begin. */
size_t counts_put(const struct counts *c, size_t from, struct mtw_out *o);
void counts_drop(struct counts *c); /* all of them; the memory stays */
void counts_free(struct counts *c);

#endif
