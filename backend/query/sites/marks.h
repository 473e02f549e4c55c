/* SPDX-License-Identifier: MIT
 *
 * marks.h - what call sites held at marks, and at the agent's samples.
 */
#ifndef QUERY_SITES_MARKS_H
#define QUERY_SITES_MARKS_H

#include "heap/users.h"
#include "query/query.h"

/* of query_intervals(); as many as samples, which are walked likewise */
#define INTERVALS_MAX MTW_SAMPLES_MAX

struct query_site;
struct site_table;

/* Live bytes at the marks of a struct site_marks, of all sites there were: copies of rows hold it
 * (struct sites_kept, struct intervals_kept). */
struct site_figures {
	atomic_uint users;
	uint64_t at[];
};
void site_figures_drop(struct site_figures *f); /* NULL: nothing */
void site_figures_share(struct site_figures **to, struct site_figures *f);

struct site_held { /* a site's, in there; a site that came since held nothing */
	uint64_t *at;
	size_t at_room;
};
enum { AT_SHAPES, AT_INTERVALS, AT_COUNT };

struct site_marks {     /* query/sites/marks.c: marks, or samples by their serials */
	uint32_t which; /* index of its arrays in struct query_site */
	uint32_t marks[INTERVALS_MAX + 1]; /* ascending; 0 = start */
	size_t count;
	/* of the marks; of the sites' stacks: moved, and new */
	uint64_t generation, version, linked;
	struct site_figures *figures;
	bool missed;           /* some cells belonged to stacks without a site */
	uint64_t publications; /* moves when the figures change */
};

void sites_at_samples(struct query *q, struct site_table *t); /* ... at_samples */
void sites_at_marks(struct query *q, struct site_table *t, struct site_marks *k,
		    const uint32_t *marks, size_t count);
/* live bytes */
uint64_t site_at_mark(const struct query_site *s, const struct site_marks *k, size_t place);
void site_marks_forget(struct site_marks *k);

#endif
