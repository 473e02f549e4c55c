/* SPDX-License-Identifier: MIT
 *
 * growth.h - how call sites and the whole heap grew, interval by interval, and their shape.
 */
#ifndef QUERY_SITES_GROWTH_H
#define QUERY_SITES_GROWTH_H

#include "query/sites/shape.h"

#define SPANS_MAX 7u /* joined samples: the intervals of growth, and the current one */

struct query_site;
struct site_table;

struct rise { /* from the low of each span to the low of the next */
	int64_t net[SPANS_MAX], total;
	uint32_t grew; /* intervals */
	enum shape shape;
};

#define GROWTH_START_UP_NS 5000000000ull /* of a run, which do not count */
/* No verdict comes before: 15 s of samples must follow. */
#define GROWTH_NEEDED_NS (GROWTH_START_UP_NS + 15000000000ull)

/* The basis for judging growth, the same for every site and for the whole
 * (query/sites/growth.c). */
struct growth {
	size_t count;  /* intervals; 0 = nothing yet */
	uint32_t from; /* the first sample that counts: falls are looked for from it */
	uint32_t edge[SPANS_MAX + 1]; /* the first sample of each span, and the newest */
	uint64_t at_ns[SPANS_MAX];    /* when they begin, by running time (model_running()) */
	uint64_t ns[SPANS_MAX];       /* lengths of the intervals */
	uint64_t end_ns;              /* of the newest sample */
	struct rise whole, rss;
	uint64_t needed_ns; /* time until there are enough samples */
};

/* Growth of the whole, and shape, net and trend of every site, by the agent's samples. */
void growth_update(struct query *q, struct site_table *t);
/* Net bytes, over the shapes' window, of all sites that grow steadily and are not expected. */
int64_t growth_steady(const struct site_table *t);
/* The same for all growing sites, of any shape, that are marked as expected. */
struct expected_growth {
	int64_t net;
	uint64_t live_bytes; /* of these sites */
	uint32_t sites;
};
struct expected_growth growth_expected(const struct site_table *t);
/* The site that grew most; 0 = none. */
uint32_t growth_top(struct site_table *t, int64_t *net, const struct site **site);

#endif
