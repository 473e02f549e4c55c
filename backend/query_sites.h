/* SPDX-License-Identifier: MIT
 *
 * query_sites.h - the table of call sites, for query_sites.c, query_growth.c, query_intervals.c and
 * query_verdict.c alone.
 */
#ifndef QUERY_SITES_H
#define QUERY_SITES_H

#include "query_priv.h"

#define SAMPLES 24u        /* of each site's live bytes, thinned by doubling */
#define SHAPE_INTERVALS 6u /* that samples are joined to */

struct query_site {
	struct site pub;
	struct value sum;
	uint64_t most;               /* live bytes of the heaviest stack */
	uint64_t samples[SAMPLES + 1]; /* live at table.times; the last is now */
	int64_t *mark_live;          /* live at table.marks */
	size_t mark_room;
	int64_t *net;                /* scratch of query_intervals() */
	size_t net_room;
};

struct site_table {
	struct query_site **sites;   /* number - 1 */
	size_t count, room;
	struct map by_fn;            /* function number -> site number */
	uint32_t *of_node;           /* dense index -> site number, 0 = not asked */
	size_t node_room;
	uint64_t version, stamp, resets;
	uint64_t times[SAMPLES + 1], interval_ns;
	size_t sample_count;
	uint32_t *marks;             /* ids of the marks that intervals are made of */
	size_t mark_count, mark_room;
	uint64_t marks_generation;
	struct site *out;            /* what query_sites() lends */
	uint32_t *order;
	size_t out_room, order_room, order_count;
	struct interval_row *rows;
	size_t row_room;
};

struct site_table *sites_table(struct query *q); /* up to date */
uint32_t sites_of_index(struct query *q, uint32_t index);
/* query_growth.c: samples, marks, and with them shape, net and trend of every site. */
void growth_update(struct query *q, struct site_table *t);

#endif
