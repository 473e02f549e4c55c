/* SPDX-License-Identifier: MIT
 *
 * filter.h - the stacks that pass the filter, and what they hold.
 */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "query/amounts.h"

/* amounts that pass the filter: the node's own; here and below */
struct passed {
	struct amounts self, incl;
};

struct filter {
	char *words_wanted[16], *lib;
	size_t word_count;
	uint64_t size_above;
	bool grew, fresh, active;
	uint32_t age_min, age_max; /* seconds: of blocks older than this, and younger */
	char *thread;              /* ... allocated by such a thread: part of its name, or its id */
	bool by_cohort;            /* the filter uses one of these */
	uint8_t *thread_hit;       /* per thread index: is it one? */
	size_t thread_hits;
	uint64_t cohort_scan;  /* scan behind the sums */
	uint16_t *word_of_fn;  /* per function: words that it matches, bit 15 = asked */
	uint16_t *word_of_loc; /* the same per location */
	size_t fn_room, loc_room;
	struct passed **pages; /* by dense index; NULL: nothing passes there */
	struct passed **old;   /* of earlier sums, to be freed */
	size_t page_room, old_count, old_room;
	uint16_t *words; /* per dense index below count: words matched by the whole stack */
	size_t words_room;
	uint32_t count; /* nodes whose words are known */
	bool whole;     /* sums are right and kept right; else being computed: */
	bool summing;   /* words are done, */
	uint32_t left;  /* nodes from here on are summed */
};

bool filter_on(const struct query *q);
void filter_start(struct query *q); /* recomputes all sums, if there is a filter */
bool filter_make(struct query *q);  /* continues that; true when complete */
void filter_tidy(struct query *q);  /* frees unneeded pages */
/* Updates a stack's sums: *v becomes the difference. False: none. */
bool filter_follow(struct query *q, uint32_t index, struct amounts *v);
void filter_add_nodes(struct query *q);
/* rematches a renamed location; true: it matches other words now */
bool filter_loc_again(struct query *q, uint32_t loc);
/* the same for a node, after its parent */
bool filter_words_again(struct query *q, uint32_t index);
const struct amounts *filter_self(const struct query *q, uint32_t index);
const struct amounts *filter_incl(const struct query *q, uint32_t index);
/* is a part of the stack in the sums? */
bool filter_passed(const struct query *q, uint32_t index);
/* Says in a row's amounts which of them are known: a filter by thread chooses among live blocks, so
 * it leaves rates and totals since the start unknown. */
void filter_known(const struct query *q, struct amounts *row);
bool filter_takes(const struct query *q, const struct cohort *c);
void filter_release(struct filter *f);
bool filter_text_has(const char *text, const char *part); /* without case; NULL text has nothing */

#endif
