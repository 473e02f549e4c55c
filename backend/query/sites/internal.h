/* SPDX-License-Identifier: MIT
 *
 * internal.h - the table of call sites, for query/sites/sites.c, query/sites/growth.c,
 * query/sites/intervals.c and query/sites/verdict.c alone.
 */
#ifndef QUERY_SITES_INTERNAL_H
#define QUERY_SITES_INTERNAL_H

#include "query/internal.h"

#define SPANS_MAX 7u /* joined samples: the intervals of growth, and the current one */
/* of query_intervals(); as many as samples, which are walked likewise */
#define INTERVALS_MAX MTW_SAMPLES_MAX
#define FLOW_WINDOWS 2 /* some ten seconds, some ten minutes */
#define FLOW_POINTS 6u /* of each */

struct flow { /* cumulative, of all stacks of a site */
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
	double block_ns; /* live blocks, summed over time */
};

/* live bytes at the marks of a struct site_marks; and those under construction */
struct site_held {
	uint64_t *at, *next;
	size_t at_room, next_room;
};
enum { AT_SHAPES, AT_INTERVALS, AT_COUNT };

struct site_marks {     /* query/sites/marks.c: marks, or samples by their serials */
	uint32_t which; /* index of its arrays in struct query_site */
	uint32_t marks[INTERVALS_MAX + 1], wanted[INTERVALS_MAX + 1]; /* ascending; 0 = start */
	size_t count, wanted_count;
	/* of the marks; of the sites, for `at` and for `next` */
	uint64_t generation, version, next_version;
	uint64_t linked, next_linked; /* likewise table.linked */
	bool walking, missed;         /* missed: some cells belonged to stacks without a site */
	uint64_t publications;        /* moves when the figures change */
	struct mark_walk walk;
};

struct query_site {
	struct site pub;
	struct value sum; /* of stacks that pass the filter */
	struct value all; /* of all its stacks, whatever the filter */
	uint64_t most;    /* live bytes of the heaviest stack, pub.leaf */
	uint32_t heavy;   /* that stack's dense index */
	uint32_t first;   /* chain of its stacks through table.next; 0 ends */
	bool look;        /* search for the heaviest stack again: */
	uint32_t look_at; /* from this one on; 0 = from the first */
	bool describe;    /* that stack or its place changed */
	/* query/sites/churn.c: at the points of table.flow, and at the last look */
	struct flow flow[FLOW_WINDOWS][FLOW_POINTS];
	double block_ns;
	uint64_t looked_ns, looked_live, looked_freed;
	uint64_t since_ns; /* earlier points belong to other stacks */
	uint64_t quiet_ns; /* since then nothing was freed, with blocks alive */
	bool moved;        /* since then a stack changed its site, from or to this one */
	int64_t *net;      /* the result of query_intervals() */
	size_t net_room;
	struct site_held held[AT_COUNT];
};

struct rise { /* from the low of each span to the low of the next */
	int64_t net[SPANS_MAX], total;
	struct swing swing;
};

/* The basis for judging growth, the same for every site and for the whole
 * (query/sites/growth.c). */
struct growth {
	size_t count;                 /* intervals; 0 = nothing yet */
	uint32_t edge[SPANS_MAX + 1]; /* the first sample of each span, and the newest */
	uint64_t at_ns[SPANS_MAX];    /* when they begin */
	uint64_t ns[SPANS_MAX];       /* lengths of the intervals */
	uint64_t end_ns;              /* of the newest sample */
	struct rise whole, rss;
	uint64_t needed_ns; /* time until there are enough samples */
};

struct site_table {
	struct query_site **sites; /* number - 1 */
	size_t count, room;
	struct map by_fn; /* function number -> site number */
	/* per dense index: site number, 0 = never allocated; neighbours in the site's chain */
	uint32_t *of_node, *next, *prev;
	size_t node_room, next_room, prev_room;
	bool stale;       /* sums anew */
	bool moved;       /* stacks changed sites: recompute after the current pass */
	uint32_t at;      /* stacks before this node are summed; all = complete */
	uint64_t version; /* moves when stacks changed their sites */
	uint64_t seen, names, resets, rules; /* rules: expected_now() */
	bool looking;                        /* searching the heaviest stacks of some sites */
	size_t described;      /* sites before this are described by these names and rules, */
	uint64_t described_ns; /* since then */
	/* the samples that sites have figures at, when by_slot */
	struct sample_figures samples[MTW_SAMPLES_MAX];
	size_t sample_count;
	bool by_slot;
	/* sites' live bytes at the samples, and at the ends of query_intervals() */
	struct site_marks at_samples, at_ends;
	uint64_t shaped; /* at_samples.publications behind all sites' shapes */
	struct growth growth;
	struct flow_times {
		uint64_t ns[FLOW_POINTS], looks[FLOW_POINTS];
		size_t count;
	} flow[FLOW_WINDOWS];
	uint64_t looks;   /* number of looks at the sites */
	struct site *out; /* the result of query_sites() */
	uint32_t *order;
	size_t out_count, out_room, order_room, order_count;
	struct interval_row *rows;
	size_t row_count, row_room;
	uint64_t linked;        /* stacks ever linked to sites */
	struct verdict verdict; /* the last complete one; empty text: none yet */
};

static inline uint32_t sites_of_index(const struct query *q, uint32_t index)
{
	return index < q->sites->node_room ? q->sites->of_node[index] : 0;
}
/* The current table; NULL while sums are incomplete: the last result stays valid. */
struct site_table *sites_table(struct query *q);
/* query/sites/growth.c */
/* Net bytes, over the shapes' window, of all sites that grow steadily and are not expected. */
int64_t sites_steady(const struct site_table *t);
/* The same for all growing sites, of any shape, that are marked as expected. */
int64_t sites_expected(const struct site_table *t);
/* Does x precede y when their figures are equal? In the agent's order of stacks, so the same for
 * every viewer. */
static inline bool site_first(const struct site *x, const struct site *y)
{
	return x->leaf != y->leaf ? x->leaf < y->leaf : x->id < y->id;
}
/* 0 = none. */
uint32_t sites_top_growing(struct site_table *t, int64_t *net, const struct site **site);
/* query/sites/expected_sites.c: moves when other sites may be expected. */
uint64_t expected_now(const struct query *q);
/* query/sites/growth.c: growth of the whole, and shape, net and trend of every site, by the agent's
 * samples. */
void growth_update(struct query *q, struct site_table *t);

/* query/sites/marks.c. In slices; true: known, perhaps slightly old. */
bool sites_at_samples(struct query *q, struct site_table *t); /* ... at_samples */
bool sites_at_marks(struct query *q, struct site_table *t, struct site_marks *k,
		    const uint32_t *marks, size_t count);
/* live bytes */
uint64_t site_at_mark(const struct query_site *s, const struct site_marks *k, size_t place);
void site_marks_forget(struct site_marks *k);

/* query/sites/churn.c: churn and life of every site. */
void churn_update(struct query *q, struct site_table *t);
void churn_forget(struct site_table *t); /* forgets all past looks */

#endif
