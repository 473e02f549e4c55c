/* SPDX-License-Identifier: MIT
 *
 * internal.h - internals of the queries, for the files of query/ alone.
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
 * A tick's changes are queued as they arrive (query/query.c) and taken in before the next answer
 * (query/feed.c): new nodes find their rows, and differences are added to the existing rows, call
 * sites and filtered sums. So a tick costs as much as it changed. Sums are made from scratch only
 * when the change cannot be followed (another base, a filter, changed names). A tick that changes
 * much makes those of the viewed rows from scratch, when that is cheaper.
 *
 * Sums are made in slices (query_allow). A walk over all stacks keeps a cursor, takes one step per
 * stack, and returns false when no step is left. Every caller passes that on, up to query_rows() or
 * query_sites(), which then return their previous answer. Changes that arrive meanwhile are added
 * behind the cursor only; the walk will meet the others. So the running program never restarts a
 * walk, and each slice makes progress.
 */
#ifndef QUERY_INTERNAL_H
#define QUERY_INTERNAL_H

#include "owners/names.h"
#include "owners/owner.h"
#include "query/query.h"

struct value { /* the summed amounts */
	struct tally tally;
	struct change change;
	uint64_t rate_bytes, rate_blocks;
	uint64_t sampled; /* stacks with a sampled share */
};

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
	struct value incl, self;
	struct member heavy; /* the member that holds most */
	uint64_t most;       /* its live bytes */
	uint32_t summed;     /* members summed so far, while values are being computed */
	uint64_t summing;    /* q->stamp when that began */
	uint32_t rest_count; /* of a rest row: rows that it stands for */
};

/* amounts that pass the filter: the node's own; here and below */
struct passed {
	struct value self, incl;
};

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
	uint64_t cohort_scan;  /* scan behind the sums */
	uint16_t *word_of_fn;  /* per function: words that it matches, bit 15 = asked */
	uint16_t *word_of_loc; /* the same per location */
	size_t fn_room, loc_room;
	struct passed **pages; /* by dense index; NULL: nothing passes there */
	struct passed **old;   /* of earlier sums, to be freed */
	size_t page_room, old_count, old_room;
	uint16_t *words; /* per dense index below count: words matched by the whole stack */
	size_t words_room;
	uint32_t count; /* nodes whose words are known */
	bool whole;     /* sums are right and kept right; else being computed: */
	bool summing;   /* words are done, */
	uint32_t left;  /* nodes from here on are summed */
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

/* locations whose filter matches may have changed (query/rename.c) */
struct renaming {
	uint32_t *locs;
	size_t count, room;
	size_t at; /* those before it are done */
	/* its next node, with the subtree below; NO_ID = none tested yet */
	uint32_t top;
	uint32_t node; /* the current node of the subtree; NO_ID = none left */
};

/* Changes of nodes' own values by ticks. */
struct arrivals {
	struct arrived_list *first, *last;
	size_t left;
};

struct aging;      /* query/sites/ages.c */
struct query_site; /* query/sites/sites.c */
struct lines;      /* query/sites/lines.c */
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
	uint32_t all_renamed_at; /* the last batch that renamed all locations */
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
	const struct expected *expected; /* borrowed; NULL = none */
};

/* query/value.c */
/* ROW_ZERO when the value is empty: nothing alive, or no change between two marks. */
uint32_t value_zero_flag(const struct model *m, const struct value *v);
/* As GROW, for arrays beside the nodes: new elements stay untouched, so that the first one costs
 * no time and unused ones no memory. */
#define GROW_UNTOUCHED(ptr, have, need)                                                            \
	value_grow_untouched((void **)&(ptr), &(have), (need), sizeof *(ptr))
void value_grow_untouched(void **ptr, size_t *have, size_t need, size_t size);
void value_add(struct value *v, const struct value *d);
void value_sub(struct value *v, const struct value *d);
void value_of_node(const struct model *m, const struct node *n, bool incl, struct value *v);

/* query/arrived.c */
/* takes the list over; not an empty one */
void arrivals_push(struct arrivals *a, struct model_changes *changes);
const struct model_delta *arrivals_first(struct arrivals *a); /* NULL = none */
/* a later change of the first's tick; NULL = past it */
const struct model_delta *arrivals_ahead(const struct arrivals *a, size_t by);
void arrivals_taken(struct arrivals *a); /* removes the first */
void arrivals_forget(struct arrivals *a);

/* query/tree/steps.c */
const struct name_loc *node_frames(struct query *q, uint32_t index); /* of a node's location */
/* number of its function */
uint32_t member_fn(struct query *q, const struct member *m);
/* inverted: outwards; false at the end */
bool member_up(struct query *q, const struct member *m, struct member *to);
typedef bool (*step_fn)(struct query *q, void *arg, const struct member *m); /* false: enough */
bool member_steps(struct query *q, const struct member *m, step_fn fn, void *arg);
/* Is it the innermost frame of its node? */
static inline bool member_innermost(const struct query *q, const struct member *m)
{
	return q->merged || m->frame == 0;
}

/* query/tree/inlined.c */
#define KNOWN_BY 8u /* members that identify a row */
/* the old row of the group; 0 = none */
uint32_t aside_take(struct query *q, uint32_t parent, const struct group *p);
/* finds the row zoomed into; false: no step was left */
bool aside_find(struct query *q, size_t level);

/* query/tree/group.c. False: no step was left. */
bool tree_build(struct query *q, uint32_t row); /* children up to date */
/* They are up to date, or may stay old for a while: many members, and more names to come. */
bool tree_good(const struct query *q, const struct trow *r);
void tree_drop_grouping(struct query *q);
static inline uint64_t member_print(const struct member *m)
{
	return hash_mix(hash_mix((uint64_t)m->index << 32 | m->leaf) + m->frame);
}
static inline uint64_t child_key(uint32_t row, uint32_t fn)
{
	return (uint64_t)row << 32 | fn;
}

/* query/tree/tree.c */
uint32_t row_new(struct query *q, uint32_t parent, uint32_t fn);
void row_drop(struct query *q, uint32_t number);
/* children are grouped by the current names */
bool tree_current(const struct query *q, const struct trow *r);
/* the row's step to m */
uint32_t tree_renamed_at(const struct query *q, uint32_t row, const struct member *m);
uint64_t tree_version(const struct query *q); /* moves when rows may need regrouping */
void tree_clear(struct query *q);
uint32_t tree_root(const struct query *q);
/* False: no step was left. */
bool tree_value(struct query *q, uint32_t row); /* incl and self up to date */
/* May its children be shown? They are grouped by the current names, or by old ones when no step
 * is left. */
bool tree_shown(struct query *q, uint32_t row);
/* The end of the folded chain; built unless it is the row itself. */
bool tree_tail(struct query *q, uint32_t row, uint32_t *tail);
bool tree_has_children(struct query *q, uint32_t row);
/* sort key (query/tree/rows.c) */
int64_t tree_key(const struct query *q, uint32_t row);
void tree_add_nodes(struct query *q); /* adds new nodes */
/* adds a node that arrived below the row while it was grouped */
void tree_add_late(struct query *q, uint32_t row, uint32_t index);
bool tree_add_stacks(struct query *q); /* adds stacks that the inverted tree lacks */
/* Adds a difference to the rows of a stack. */
void tree_add_value(struct query *q, uint32_t index, const struct value *v);
/* Adds the stack alone, when all rows will be summed up again. */
void tree_add_stack(struct query *q, uint32_t index);
/* The built rows that include a stack, from the top; returns their count. */
size_t tree_rows_of(struct query *q, uint32_t index, uint32_t *rows, size_t max);

/* query/rename.c */
/* locations; NULL: any may be renamed */
void filter_renamed(struct query *q, const uint32_t *locs, size_t count);
bool filter_rename(struct query *q); /* applies these; false: no step was left */
void filter_forget_renamed(struct query *q);

/* query/steps.c */
bool steps_more(struct query *q); /* for take_step() */
/* One of the steps that query_allow() gave; false = none is left. */
static inline bool take_step(struct query *q)
{
	if (!q->allowed && !steps_more(q)) {
		q->unfinished = true;
		return false;
	}
	q->allowed -= q->allowed != SIZE_MAX;
	q->steps++;
	return true;
}

/* Charges further steps. */
static inline void spend_steps(struct query *q, size_t steps)
{
	if (q->allowed != SIZE_MAX)
		q->allowed -= q->allowed < steps ? q->allowed : steps;
	q->steps += steps;
}

/* query/feed.c */
void feed_follow(struct query *q, uint32_t index,
		 const struct value *raw); /* the unfiltered change of a stack */
#define FOLLOW_STEPS 24u                   /* a walk from the root to a stack, and back */
#define BULK_STEPS 2u                      /* to its call site alone */
/* Call it first. False: sums are incomplete; read nothing. */
bool feed_tree(struct query *q);
/* The same for sums made stack by stack: they include all arrivals. */
bool feed_stacks(struct query *q);
/* Names that arrived since then can wait for more, to be taken in together. */
bool feed_more_names(const struct query *q, uint64_t looked_ns);
/* query/filter.c */
bool filter_on(const struct query *q);
void filter_start(struct query *q); /* recomputes all sums, if there is a filter */
bool filter_make(struct query *q);  /* continues that; true when complete */
void filter_tidy(struct query *q);  /* frees unneeded pages */
/* Updates a stack's sums: *v becomes the difference. False: none. */
bool filter_follow(struct query *q, uint32_t index, struct value *v);
void filter_add_nodes(struct query *q);
/* rematches a renamed location; true: it matches other words now */
bool filter_loc_again(struct query *q, uint32_t loc);
/* the same for a node, after its parent */
bool filter_words_again(struct query *q, uint32_t index);
const struct value *filter_self(const struct query *q, uint32_t index);
const struct value *filter_incl(const struct query *q, uint32_t index);
/* is a part of the stack in the sums? */
bool filter_passed(const struct query *q, uint32_t index);
bool filter_takes(const struct query *q, const struct cohort *c);
void filter_release(struct filter *f);
bool filter_text_has(const char *text, const char *part); /* without case; NULL text has nothing */

/* query/sites/sites.c */
void sites_free(struct query *q);
/* Adds to a stack's site: raw = without filter, v = the part that passes it. */
/* Prefetches for a value soon added at this stack; near: very soon, its site is known. */
void sites_expect(const struct query *q, uint32_t index, bool near);
void sites_add_value(struct query *q, uint32_t index, const struct value *raw,
		     const struct value *v);
void sites_move(struct query *q, uint32_t index); /* its site may have changed */
void sites_stale(struct query *q, bool only_moved);
uint32_t sites_left(const struct query *q); /* nodes that are not summed yet */
/* query/sites/ages.c */
void ages_forget(struct query *q);
/* Sort key of a shown tree row or a call site; unknown ages sort last. */
int64_t ages_key(const struct query *q, bool sites, uint32_t id, enum query_column by,
		 bool reverse);
size_t ages_left(const struct query *q); /* cohorts that are not counted yet */
/* query/sites/shape.c */
/* beyond any heap: only a hostile peer sends more, and sums must not overflow */
#define NET_MAX (1ll << 50)
static inline int64_t net_clamped(int64_t net)
{
	return net > NET_MAX ? NET_MAX : net < -NET_MAX ? -NET_MAX : net;
}
/* usual: the typical repeated drop; noise: growth that may be chance, since only some phases
 * were seen. */
struct swing {
	uint64_t usual, noise;
};
enum shape shape_of(const int64_t *net, const uint64_t *ns, size_t count, uint64_t live,
		    const struct swing *w, uint32_t *grew);

/* query/sites/lines.c */
void lines_add_value(struct query *q, uint32_t index, const struct value *raw);
void lines_stale(struct query *q);          /* recompute sums */
uint32_t lines_left(const struct query *q); /* nodes left to sum */
void lines_forget(struct query *q);

#endif
