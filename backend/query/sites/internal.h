/* SPDX-License-Identifier: MIT
 *
 * internal.h - the table of call sites, for query/sites/sites.c, query/sites/growth.c,
 * query/sites/intervals.c and query/sites/verdict.c alone.
 */
#ifndef QUERY_SITES_INTERNAL_H
#define QUERY_SITES_INTERNAL_H

#include "query/internal.h"

#define SPANS_MAX 7u /* that samples are joined to: intervals of growth, and the one that runs */
/* of query_intervals(); as many as samples, which are walked over likewise */
#define INTERVALS_MAX MTW_SAMPLES_MAX
#define FLOW_WINDOWS 2 /* some ten seconds, some ten minutes */
#define FLOW_POINTS 6u /* of each */

struct flow { /* cumulative, of all stacks of a site */
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
	double block_ns; /* live blocks, summed over time */
};

/* at the marks of a struct site_marks, live bytes; and while that is worked out */
struct site_held {
	uint64_t *at, *next;
	size_t at_room, next_room;
};
enum { AT_SHAPES, AT_INTERVALS, AT_COUNT };

struct site_marks {     /* query/sites/marks.c: marks, or samples by their serials */
	uint32_t which; /* of the arrays in struct query_site */
	uint32_t marks[INTERVALS_MAX + 1], wanted[INTERVALS_MAX + 1]; /* ascending; 0 = start */
	size_t count, wanted_count;
	/* of the marks; of the sites, as of at and of next */
	uint64_t generation, version, next_version;
	uint64_t linked, next_linked; /* likewise table.linked */
	bool walking, missed;         /* missed: some cells were of stacks without a site */
	uint64_t publications;        /* moves with the figures */
	struct mark_walk walk;
};

struct query_site {
	struct site pub;
	struct value sum; /* of the stacks that pass the filter */
	struct value all; /* of all its stacks, whatever the filter */
	uint64_t most;    /* live bytes of the heaviest stack, pub.leaf */
	uint32_t heavy;   /* that stack's dense index */
	uint32_t first;   /* chain of its stacks through table.next; 0 ends */
	bool look;        /* for the heaviest stack, again: */
	uint32_t look_at; /* from this one on; 0 = from the first */
	bool describe;    /* that stack, or its place, is another */
	/* query/sites/churn.c: at the points of table.flow, and how it was at the last look */
	struct flow flow[FLOW_WINDOWS][FLOW_POINTS];
	double block_ns;
	uint64_t looked_ns, looked_live, looked_freed;
	uint64_t since_ns; /* points before that are of other stacks */
	uint64_t quiet_ns; /* nothing was freed since, and something alive */
	bool moved;        /* a stack came from another site since, or went to one */
	int64_t *net;      /* what query_intervals() lends */
	size_t net_room;
	struct site_held held[AT_COUNT];
};

struct rise { /* of the lowest of each span to the lowest of the next */
	int64_t net[SPANS_MAX], total;
	struct swing swing;
};

/* What growth is judged by, the same for every site and for the whole (query/sites/growth.c). */
struct growth {
	size_t count;                 /* intervals; 0 = nothing yet */
	uint32_t edge[SPANS_MAX + 1]; /* the samples that spans begin with, and the newest */
	uint64_t at_ns[SPANS_MAX];    /* when they begin */
	uint64_t ns[SPANS_MAX];       /* lengths of the intervals */
	uint64_t end_ns;              /* of the newest sample */
	struct rise whole, rss;
	uint64_t needed_ns; /* until there is enough */
};

struct site_table {
	struct query_site **sites; /* number - 1 */
	size_t count, room;
	struct map by_fn; /* function number -> site number */
	/* per dense index: site number, 0 = never allocated; neighbours in the site's chain */
	uint32_t *of_node, *next, *prev;
	size_t node_room, next_room, prev_room;
	bool stale;       /* sums anew */
	bool moved;       /* ... when they are whole: stacks are of other sites */
	uint32_t at;      /* sums are of the stacks before this node; all = whole */
	uint64_t version; /* moves when stacks changed their sites */
	uint64_t seen, names, resets, rules; /* rules: expected_now() */
	bool looking;                        /* for the heaviest stacks of some sites */
	size_t described;      /* sites before this are called by these names and rules, */
	uint64_t described_ns; /* since then */
	/* as sites are known at them, when by_slot */
	struct sample_figures samples[MTW_SAMPLES_MAX];
	size_t sample_count;
	bool by_slot;
	/* what sites held at these, and at those of query_intervals() */
	struct site_marks at_samples, at_ends;
	uint64_t shaped; /* at_samples.publications as of which all sites have their shapes */
	struct growth growth;
	struct flow_times {
		uint64_t ns[FLOW_POINTS], looks[FLOW_POINTS];
		size_t count;
	} flow[FLOW_WINDOWS];
	uint64_t looks;   /* at the sites */
	struct site *out; /* what query_sites() lends */
	uint32_t *order;
	size_t out_count, out_room, order_room, order_count;
	struct interval_row *rows;
	size_t row_count, row_room;
	uint64_t linked;        /* stacks that sites have got since the table is there */
	struct verdict verdict; /* the last one that was whole; text is empty: none yet */
};

static inline uint32_t sites_of_index(const struct query *q, uint32_t index)
{
	return index < q->sites->node_room ? q->sites->of_node[index] : 0;
}
/* Up to date; NULL while sums are being made: what was lent last holds. */
struct site_table *sites_table(struct query *q);
/* query/sites/growth.c */
/* Net bytes, over the window of the shapes, of all that grow steadily and not as expected. */
int64_t sites_steady(const struct site_table *t);
/* The same of all that grow, in whatever shape, and are marked as expected. */
int64_t sites_expected(const struct site_table *t);
/* Of two with the same figure x stands first: in the agent's order of stacks, not as they were met
 * here, and so for all. */
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

/* query/sites/marks.c. In slices; true: they are known, perhaps as of a moment ago. */
bool sites_at_samples(struct query *q, struct site_table *t); /* ... at_samples */
bool sites_at_marks(struct query *q, struct site_table *t, struct site_marks *k,
		    const uint32_t *marks, size_t count);
/* live bytes */
uint64_t site_at_mark(const struct query_site *s, const struct site_marks *k, size_t place);
void site_marks_forget(struct site_marks *k);

/* query/sites/churn.c: churn and life of every site. */
void churn_update(struct query *q, struct site_table *t);
void churn_forget(struct site_table *t); /* what was seen until now */

#endif
