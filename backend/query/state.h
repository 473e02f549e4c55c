/* SPDX-License-Identifier: MIT
 *
 * state.h - the state of a query, for the files of query/ and below it alone.
 *
 * A tree row (struct trow) is a set of members: trie nodes, each at one of its frames (inlined ones
 * are frames of the same node). The members of a row determine those of its children, so the tree
 * is built from the top, and only as far as it is viewed. All members of a row have the same number
 * of frames above them: none is an ancestor of another, and inclusive values add up without double
 * counting.
 *
 * Names arrive late, over a long time. Each batch of names has a number (renames), and each
 * location the number of its last renaming. A row's children are grouped by the names of one batch
 * (grouped_at). A member that steps to a location renamed since is in no child, or in a wrong one,
 * until the row is grouped again; all others are right. Shown rows are searched for such steps, and
 * only rows that have one are grouped again; children that keep their members keep their sums.
 *
 * A tick's changes are queued as they arrive (query/answers/query.c) and taken in before the next
 * answer (query/feed/feed.c): new nodes find their rows, and differences are added to the existing
 * rows, call sites and filtered sums. So a tick costs as much as it changed. Sums are made from
 * scratch only when the change cannot be followed (another base, a filter, changed names). A tick
 * that changes much makes those of the viewed rows from scratch, when that is cheaper.
 *
 * Sums are made in slices (query_allow). A walk over all stacks keeps a cursor, takes one step per
 * stack, and returns false when no step is left. Every caller passes that on, up to query_rows() or
 * query_sites(), which then return their previous answer. Changes that arrive meanwhile are added
 * behind the cursor only; the walk will meet the others. So the running program never restarts a
 * walk, and each slice makes progress.
 */
#ifndef QUERY_STATE_H
#define QUERY_STATE_H

#include "owners/names.h"
#include "owners/owner.h"
#include "query/arrived.h"
#include "query/filter.h"
#include "query/query.h"
#include "query/amounts.h"

struct member {
	uint32_t index; /* dense index of its node */
	uint32_t frame; /* of that node's location: 0 = innermost */
	uint32_t leaf;  /* inverted: the allocating node, at or below index; else = index */
};

struct trow {
	uint32_t parent; /* row number; the two roots have none (NO_ID) */
	uint32_t fn;     /* number of its function (owners/names.h) */
	struct member *members;
	size_t member_count, member_room;
	uint32_t *children; /* in screen order */
	size_t child_count, child_room;
	uint64_t print;      /* sum of member_print(): equal for equal members */
	bool built;          /* children are known, */
	uint32_t grouped_at; /* by the names of this number (query.renames), */
	bool stray;          /* but come from other members than the current ones */
	uint64_t grouped_ns; /* when: large ones wait a while (query/tree/group.c) */
	bool open, unfolded, more, gone;
	bool wanted;       /* lies on the way to a searched or opened row: has a line */
	bool heir;         /* open as part of a row that was open before names arrived */
	bool rest;         /* stands for the small children of its parent */
	uint32_t rest_row; /* of this row's children, 0 = none yet */
	uint32_t tail;     /* last row of the chain that is shown in this one */
	uint64_t valued;   /* q->stamp: values are right and kept right; else to be computed */
	struct amounts incl, self;
	struct member heavy; /* the member that holds most */
	uint64_t most;       /* its live bytes */
	uint32_t summed;     /* members summed so far, while values are being computed */
	uint64_t summing;    /* q->stamp when that began */
	uint32_t rest_count; /* of a rest row: rows that it stands for */
};

struct group {
	uint32_t fn, row; /* row: the row that takes it over, 0 = a new one */
	struct member *members;
	size_t count, room;
	uint64_t print; /* as trow.print */
	bool inlined;   /* some are frames inlined into others */
	/* some belonged to another function at the last grouping, or may have */
	bool renamed;
};
struct grouping {         /* the current grouping of a row's members into its children */
	uint32_t row;     /* 0 = none */
	uint32_t version; /* of the names when it began */
	size_t seen;      /* members before this one step to no renamed location, */
	bool needed;      /* unless one was met: */
	uint32_t nodes;   /* dense indices below this are grouped, */
	uint32_t *late;   /* and nodes added below the row since */
	size_t late_count, late_room;
	size_t at; /* members before this one are grouped */
	struct group *groups;
	size_t group_count, group_room;
	struct map by_fn, known; /* known: leaf -> position in found */
	uint32_t *found;         /* for old children's first members: the group that has it now */
	struct map parents;      /* node that old children lie below -> position in parent_found */
	uint32_t *parent_found;  /* the group that has it now, by an inlined frame */
	uint32_t *orphans;       /* old children without a group, */
	uint32_t *orphan_nodes;  /* and the positions of their nodes' parents */
	size_t orphan_count;
};

struct shown { /* the result of query_rows() */
	struct row *rows;
	size_t count, room;
	char **texts; /* names of folded chains in it */
	size_t text_count, text_room;
	uint32_t *place; /* row number -> index in rows + 1 */
	size_t place_room;
	bool inverted;
};

struct search {
	char *text; /* NULL = none */
	bool running;
	uint32_t loc, node; /* locations from loc on and nodes from node on remain */
	size_t hits, pending;
	uint8_t *hit_of_fn; /* 0 not asked, 1 no, 2 yes */
	size_t hit_room;
};

/* locations whose filter matches may have changed (query/feed/rename.c) */
struct renaming {
	uint32_t *locs;
	size_t count, room;
	size_t at; /* those before it are done */
	/* its next node, with the subtree below; NO_ID = none tested yet */
	uint32_t top;
	uint32_t node; /* the current node of the subtree; NO_ID = none left */
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
	bool merged;          /* inlined frames have no rows */
	uint64_t turns;       /* moves when that does */
	uint32_t renames;     /* number of name batches, from 1 on */
	uint32_t *renamed_at; /* by location: its last batch, 0 = none */
	size_t renamed_room;
	uint32_t sites_moved_at; /* the last batch that moved stacks to other call sites */
	enum query_column by;
	uint64_t resets;

	struct trow **rows; /* [0] is no row; [1], [2] the roots */
	size_t row_count, row_room;
	uint32_t zoom[16];
	struct member zoomed[16]; /* members of rows put aside: where to search for them */
	size_t zoom_depth;
	/* function and node of rows put aside -> row, which may be back */
	struct map aside;
	uint32_t zoom_owner; /* module, or NO_ID */
	bool zoom_owner_on;
	uint64_t stamp;       /* moves when all rows' values must be recomputed */
	uint64_t passing;     /* moves when other stacks may pass */
	uint64_t stamp_ticks; /* in bulk: the model's ticks then */
	bool filling;         /* rows to return are incomplete */
	uint64_t changes;     /* moves when anything may have moved */
	uint64_t seen_ticks, seen_names;
	bool stale;        /* recompute sums: base or model was replaced */
	bool filter_stale; /* recompute sums: the filter changed */
	/* recompute them if filtered by owner: any owner may have changed */
	bool reowned;
	size_t allowed;          /* steps left before the next look at the clock */
	bool passes;             /* query_pass() */
	uint64_t end_ns;         /* more steps are granted until then; 0 = none */
	bool unfinished;         /* one was refused */
	uint64_t steps;          /* taken since the building began */
	struct arrivals arrived; /* changes not taken in yet; none when stale */
	/* arrivals go to call sites and lines only: rows are summed up again and need not wait */
	bool bulk;
	uint32_t *moved; /* stacks whose owner or site may have changed */
	size_t moved_count, moved_room;
	bool moved_all;
	size_t moved_at; /* all before it is done */
	struct renaming renaming;

	struct map child_of; /* row << 32 | function -> child, which may be gone: check it */
	uint32_t down_count; /* nodes below this have their places in the built rows */
	uint8_t *up_leaf;    /* per dense index: is a member of the inverted root */
	size_t up_room;
	bool up_started; /* the inverted tree has been requested */
	uint32_t up_at;  /* nodes before this one were checked for stacks */
	uint32_t *path;  /* scratch: from a node up */
	size_t path_room;

	struct grouping grouping;
	struct shown shown, next; /* returned; under construction */
	struct search search;
	struct filter filter;
	struct site_table *sites;
	struct aging *aging;
	struct lines *lines;
	struct marked *marked;
	const struct expected *expected; /* borrowed; NULL = none */
};

#endif
