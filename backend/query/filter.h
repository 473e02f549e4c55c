/* SPDX-License-Identifier: MIT
 *
 * filter.h - the stacks that pass the filter: a part of the snapshot.
 */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "query/amounts.h"

struct heap;

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
	uint64_t cohort_scan; /* scan behind the answer */
	uint64_t *bits;       /* by stack of the snapshot: it passes; NULL = all do */
};

bool filter_on(const struct query *q);
/* What passes of the snapshot q->raw: held. Without a filter, that itself. */
struct heap *filter_heap(struct query *q);
/* Does a part of the stack pass, a node of the snapshot? */
bool filter_passed(const struct query *q, uint32_t node);
/* Says in a row's amounts which of them are known: a filter by thread chooses among live blocks, so
 * it leaves rates and totals since the start unknown. */
void filter_known(const struct query *q, struct amounts *row);
bool filter_takes(const struct query *q, const struct cohort *c);
void filter_release(struct filter *f);
bool filter_text_has(const char *text, const char *part); /* without case; NULL text has nothing */

#endif
