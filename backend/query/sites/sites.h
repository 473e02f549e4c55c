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
	struct amounts all; /* of all its stacks, whatever the filter; pub has what passes */
	uint32_t fn;        /* number of its function */
	/* query/sites/life.c: at the points of table.flow, and at the last look */
	struct flow flow[FLOW_WINDOWS][FLOW_POINTS];
	double block_ns;
	uint64_t looked_ns, looked_live, looked_freed;
	uint64_t since_ns; /* earlier points belong to other stacks */
	uint64_t quiet_ns; /* since then nothing was freed, with blocks alive */
	bool moved;        /* since then a stack changed its site, from or to this one */
	struct site_held held[AT_COUNT];
};

/* What the kept verdict was made of. */
struct judged {
	uint64_t resets, samples, naming, rules, names;
};

struct site_table {
	struct query_site **sites; /* number - 1 */
	size_t count, room;
	struct map by_fn;         /* function number -> site number */
	struct heap_sites *of;    /* of the last snapshot, held; */
	uint32_t *number;         /* ... the sites' numbers here, 0: blocks without any frame */
	uint64_t version, linked; /* move when stacks changed their sites; when they came */
	/* the answer below is of these */
	uint64_t seen, resets, rules; /* q->stamp; rules: expected_now() */
	uint64_t described;           /* q->naming, and `rules` */
	/* the samples that sites have figures at, when by_slot */
	struct sample_figures samples[MTW_SAMPLES_MAX];
	size_t sample_count;
	bool by_slot;
	/* sites' live bytes at the samples, and at the ends of query_intervals() */
	struct site_marks at_samples, at_ends;
	uint64_t shaped; /* at_samples.publications behind all sites' shapes */
	struct growth growth;
	struct verdict verdict; /* on growth; text "": none */
	struct judged judged;
	struct flow_times flow[FLOW_WINDOWS];
	uint64_t looks;   /* number of looks at the sites */
	struct site *out; /* the result of query_sites() */
	uint32_t *order;
	size_t out_empty; /* of them, the last */
	size_t out_count, out_room, order_room, order_count;
};

/* The number of a site of the last snapshot's stack, 0 = blocks without any frame. */
static inline uint32_t sites_of(const struct site_table *t, uint32_t stack)
{
	return stack == NO_ID ? 0 : t->number[t->of->of_stack[stack]];
}
/* The same by stack of another call tree of the program, 0 = none in the last snapshot; free() it.
 */
static inline uint32_t *sites_of_stacks(const struct site_table *t, const struct skeleton *s)
{
	uint32_t *list = t->of ? skeleton_stacks_in(s, t->of->skeleton)
			       : xcalloc(s->stacks + 1ul, sizeof *list);

	for (uint32_t k = 0; t->of && k < s->stacks; k++)
		list[k] = sites_of(t, list[k]);
	return list;
}
/* Does x precede y when their figures are equal? In the agent's order of stacks, so the same for
 * every viewer. */
static inline bool site_first(const struct site *x, const struct site *y)
{
	return x->leaf != y->leaf ? x->leaf < y->leaf : x->id < y->id;
}
void sites_free(struct query *q);
/* The current table. */
struct site_table *sites_update(struct query *q);

#endif
