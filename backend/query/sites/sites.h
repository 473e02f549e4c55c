/* SPDX-License-Identifier: MIT
 *
 * sites.h - the table of call sites: each stack's site, and their sums.
 */
#ifndef QUERY_SITES_SITES_H
#define QUERY_SITES_SITES_H

#include "query/sites/growth.h"
#include "query/sites/life.h"
#include "query/sites/marks.h"
#include "query/state.h"

struct query_site {
	struct site pub;
	struct amounts passed; /* of stacks that pass the filter */
	struct amounts all;    /* of all its stacks, whatever the filter */
	uint64_t most;         /* live bytes of the heaviest stack, pub.leaf */
	uint32_t heavy;        /* that stack's dense index */
	uint32_t first;        /* chain of its stacks through table.next; 0 ends */
	bool look;             /* search for the heaviest stack again: */
	uint32_t look_at;      /* from this one on; 0 = from the first */
	bool describe;         /* that stack or its place changed */
	/* query/sites/life.c: at the points of table.flow, and at the last look */
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
	struct flow_times flow[FLOW_WINDOWS];
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
/* Does x precede y when their figures are equal? In the agent's order of stacks, so the same for
 * every viewer. */
static inline bool site_first(const struct site *x, const struct site *y)
{
	return x->leaf != y->leaf ? x->leaf < y->leaf : x->id < y->id;
}
void sites_free(struct query *q);
/* The current table. ready: all arrivals are in the sums. NULL while these are incomplete: the last
 * result stays valid. */
struct site_table *sites_update(struct query *q, bool ready);
/* Prefetches for a value soon added at this stack; near: very soon, its site is known. */
void sites_expect(const struct query *q, uint32_t index, bool near);
/* Adds to a stack's site: raw = without filter, v = the part that passes it. */
void sites_add_value(struct query *q, uint32_t index, const struct amounts *raw,
		     const struct amounts *v);
void sites_move(struct query *q, uint32_t index); /* its site may have changed */
void sites_stale(struct query *q, bool only_moved);
uint32_t sites_left(const struct query *q); /* nodes that are not summed yet */

#endif
