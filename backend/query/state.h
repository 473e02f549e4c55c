/* SPDX-License-Identifier: MIT
 *
 * state.h - the state of a query, for the files of query/ and below it alone.
 *
 * Every answer is a function of one snapshot (heap/heap.h) and of what the viewer did: the sort
 * column, the filter, the rows that are open. query_now() takes the newest snapshot; nothing is
 * kept up to date from tick to tick.
 *
 * A tree row (struct trow) is a set of members: nodes of the call tree, each at one of its frames
 * (inlined ones are frames of the same node). The members of a row determine those of its children,
 * so the tree is built from the top, and only as far as it is viewed. All members of a row have the
 * same number of frames above them: none is an ancestor of another, and inclusive values add up
 * without double counting.
 *
 * Members and children hold for one call tree with one set of names (query.structure); then the row
 * is grouped again. What stays is the row itself: its number, whether it is open, its place among
 * its siblings. As long as names stay, it is found by its parent and its function. When names
 * change, its witness says where it is now (query/tree/places.c).
 */
#ifndef QUERY_STATE_H
#define QUERY_STATE_H

#include "owners/names.h"
#include "owners/owner.h"
#include "query/amounts.h"
#include "query/filter.h"
#include "query/query.h"

struct member {
	uint32_t node;
	uint32_t frame; /* of that node's location: 0 = innermost */
	uint32_t leaf;  /* inverted: the allocating node, at or below it; else = node */
};

/* The member that a row is known by, whatever it is called. Nodes by their order of arrival. */
struct witness {
	uint32_t node, leaf;
	uint32_t frame; /* from the outermost: frames that names split off lie further in */
	bool all;       /* there was no other frame, so the row had all that the node got since */
};

struct trow {
	uint32_t parent; /* row number; the two roots have none (NO_ID) */
	uint32_t fn;     /* number of its function (owners/names.h) */
	struct witness witness;
	bool inverted; /* of which tree it is */
	bool open, unfolded, more;
	bool wanted;         /* lies on the way to a searched or opened row: has a line */
	bool forked;         /* open, with several children when names came: show() */
	bool gone;           /* names took it away: */
	uint32_t into;       /* ... it is a part of this one; 0 = of none */
	uint32_t rank;       /* among its siblings, when they were sorted last; NO_ID = it is new */
	uint32_t tail;       /* last row of the chain that is shown in this one */
	bool rest;           /* stands for the small children of its parent */
	uint32_t rest_row;   /* of this row's children, 0 = none yet */
	uint32_t rest_count; /* of a rest row: rows that it stands for */
	/* as of q->structure: */
	uint64_t placed; /* members are */
	struct member *members;
	uint32_t member_count;
	uint64_t built;     /* children are */
	uint32_t *children; /* in screen order; owned, as is what their members lie in: */
	uint32_t child_count;
	struct member *block;
	uint64_t valued; /* q->stamp: values are those of q->heap */
	struct amounts incl, self;
	struct member heavy; /* the member that holds most */
};

struct shown_rows {
	struct row *rows;
	size_t count, room;
	char **texts; /* names of folded chains in it */
	size_t text_count, text_room;
};

struct shown {                        /* the result of query_rows() */
	struct shown_rows rows, kept; /* kept: by query_rows_keep() */
	uint32_t *place, *was;        /* row number -> index in rows + 1; in the answer before */
	size_t place_room, was_room;
};

struct search {
	char *text;         /* NULL = none */
	uint8_t *hit_of_fn; /* 0 not asked, 1 no, 2 yes */
	size_t hit_room;
};

struct aging;      /* query/sites/ages.c */
struct query_site; /* query/sites/sites.c */
struct lines;      /* query/sites/lines.c */
struct marked;     /* query/answers/marked.c */
struct site_table;

struct query {
	struct model *m;
	struct symbols *s;
	struct owners *o;
	struct names *n;
	bool inverted, reverse;
	bool merged; /* inlined frames have no rows */
	enum query_column by;

	/* The snapshot, and what of it passes the filter: the same without one. Held. */
	struct heap *raw, *heap;
	/* The interval in force, when it was taken: model_until(), _diffing(), _intervals(). */
	uint32_t until;
	bool diffing;
	uint64_t interval;
	uint64_t structure;      /* moves when the call tree, its names or `merged` are others, */
	uint64_t stamp;          /* ... and when amounts are */
	uint64_t naming;         /* moves when names are others */
	uint64_t passing;        /* moves when other stacks may pass */
	void (*wait)(void *arg); /* query_apart() */
	void *wait_arg;
	uint64_t *looked; /* locations that an answer met without a name */
	size_t looked_room;

	/* model_resets() and `naming` that the rows below are of */
	uint64_t tree_resets, tree_naming;
	struct trow **rows; /* [0] is no row; [1], [2] the roots */
	size_t row_count, row_room;
	struct map child_of; /* row << 32 | function -> child */
	uint32_t zoom[QUERY_ZOOMS_MAX];
	size_t zoom_depth;
	uint32_t zoom_owner; /* module, or NO_ID */
	bool zoom_owner_on;
	bool filter_stale;   /* it is another one */
	bool part_stale;     /* the snapshot is */
	bool passes;         /* query_pass() */
	struct member *path; /* scratch: query/tree/members.c */
	size_t path_room;
	uint32_t *group_of; /* scratch, by function: query/tree/group.c */
	size_t group_room;
	/* What call sites hold, as of a stamp: rows below the root of the inverted tree are these.
	 * By number; the numbers by function. */
	struct heap_site *site_sums;
	uint32_t *site_of_fn;
	size_t site_fn_room;
	uint64_t sites_stamp;

	struct shown shown;
	struct search search;
	bool asks; /* query_asks() */
	struct filter filter;
	struct site_table *sites;
	struct aging *aging;
	struct lines *lines;
	struct marked *marked;
	const struct expected *expected; /* borrowed; NULL = none */
};

/* query/now.c: takes the newest snapshot, and what of it passes. Every answer begins with it. */
void query_now(struct query *q);
/* query/apart.c: whatever else concerns the query's state begins with this. */
void query_mine(struct query *q);
/* An answer depends on the location's name. */
static inline void query_look(struct query *q, uint32_t location)
{
	if (!q->raw->names->place[location].asked)
		q->looked[location / 64] |= 1ull << location % 64;
}
/* query_names(), where it is possible. */
bool query_ask(struct query *q);
bool query_is_apart(const struct query *q); /* this thread answers within query_answer() */

#endif
