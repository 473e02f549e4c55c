/* SPDX-License-Identifier: MIT
 *
 * interval.h - the interval over which changes are counted. Main thread only.
 */
#ifndef MODEL_INTERVAL_H
#define MODEL_INTERVAL_H

#include "model/model.h"

/*
 * Ends of the interval that no mark is at: instants that a user named (model_pin()), of which the
 * cells have all that was live. Their numbers follow those of the marks. They belong to the object,
 * whatever instant it shows.
 */
#define PINNED_FIRST MTW_MARKS_MAX
#define PINNED_COUNT 2u

struct interval {
	struct mark pinned[PINNED_COUNT];
	uint32_t base, until;               /* changes are counted between these; until 0 = now */
	uint32_t base_wanted, until_wanted; /* survive a reconnect to the same program */
	bool of_sessions;                   /* model_set_of_sessions() */
	uint64_t generation; /* increases with each new interval, and when its amounts changed */
};

/* One slot's change between two live amounts (blocks, bytes). */
static inline struct change change_between(uint64_t b0, uint64_t y0, uint64_t b1, uint64_t y1)
{
	return (struct change){ b1 > b0 ? b1 - b0 : 0, y1 > y0 ? y1 - y0 : 0, b0 > b1 ? b0 - b1 : 0,
				y0 > y1 ? y0 - y1 : 0 };
}

static inline struct live live_of(const struct tally *t)
{
	return (struct live){ live_blocks(t), live_bytes(t) };
}

/*
 * From which the live amounts at a mark follow: the cells of all marks up to it. It stays as it is
 * whatever comes; any thread may read it.
 */
struct mark_chain {
	struct chained {
		struct mark_cells cells;
		uint64_t epoch; /* slots born after it were not alive */
	} * list;
	uint32_t count; /* 0: the start, or a mark that has none */
};
struct mark_chain mark_chain(const struct model *m, uint32_t mark);
/* By order of arrival of the slots, which are not older than the mark; free() it. */
struct live *mark_chain_live(const struct mark_chain *x, const struct slots *slots);
void mark_chain_drop(struct mark_chain *x);

void interval_resume(struct model *m);
void interval_unsettle(struct model *m, uint32_t mark);
void interval_without(struct model *m, uint32_t mark);
void interval_clear(struct interval *x); /* pinned ones, too */
/* NULL: it is none */
static inline const struct mark *interval_pinned(const struct interval *x, uint32_t id)
{
	return id >= PINNED_FIRST && id - PINNED_FIRST < PINNED_COUNT
		       ? &x->pinned[id - PINNED_FIRST]
		       : NULL;
}

#endif
