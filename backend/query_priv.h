/* SPDX-License-Identifier: MIT
 *
 * query_priv.h - inside of the queries, for query*.c alone.
 *
 * A tree row (struct trow) is a set of members: trie nodes, each at one of its frames (inlined ones
 * are frames of the same node). Members of the children of a row follow from the members of the
 * row, so that the whole tree is made anew from the top when names arrive, and only as far as it
 * is looked at. All members of a row have the same number of frames above them: none is an
 * ancestor of another, and inclusive values add up without counting anything twice.
 */
#ifndef QUERY_PRIV_H
#define QUERY_PRIV_H

#include "owner_priv.h"
#include "query.h"

struct value {                   /* what is added up */
	struct tally tally;
	struct change change;
	uint64_t rate_bytes, rate_blocks;
};

struct member {
	uint32_t index;          /* dense index of the node that it stands at */
	uint32_t frame;          /* of that node's location: 0 = innermost */
	uint32_t leaf;           /* inverted: the allocating node; else = index */
};

struct trow {
	uint32_t parent;         /* row number; the two roots have none (NO_ID) */
	uint32_t fn;             /* number of its function (names.h) */
	struct member *members;
	size_t member_count, member_room;
	uint32_t *children;      /* in the order of the screen */
	size_t child_count, child_room;
	bool built;              /* children are known, as of the two below */
	uint64_t built_version, built_shape;
	bool open, unfolded, more, gone;
	bool rest;               /* stands for the small children of its parent */
	uint32_t rest_row;       /* of this row's children, 0 = none yet */
	uint32_t tail;           /* last row of the chain that is shown in this one */
	uint64_t valued;         /* q->stamp of the values */
	struct value incl, self;
	uint32_t heaviest;       /* dense index of the member that holds most */
};

struct filter {
	char *words[16], *lib;
	size_t word_count;
	uint64_t size_above;
	bool grew, fresh, active;
	uint16_t *word_of_fn;    /* per function: words that it matches, bit 15 = asked */
	size_t fn_room;
	struct value *self, *incl; /* per dense index, of the stacks that pass */
	size_t value_room, incl_room;
	uint64_t stamp;
};

struct query_site;               /* query_sites.c */
struct site_table;

struct query {
	struct model *m;
	struct symbols *s;
	struct owners *o;
	struct names *n;
	bool inverted, reverse;
	enum query_column by;
	uint64_t resets;

	struct trow **rows;      /* [0] is no row; [1], [2] the roots */
	size_t row_count, row_room;
	uint32_t zoom[16];
	size_t zoom_depth;
	uint32_t zoom_owner;     /* module, or NO_ID */
	bool zoom_owner_on;
	uint64_t stamp;          /* moves when values may have moved */
	uint64_t seen_ticks, seen_changes;
	bool stale;              /* sums anew: base, filter or model was replaced */
	uint32_t leaf_count;     /* stacks that ever allocated, when the inverted tree was made */

	struct row *out;         /* the last query_rows() */
	size_t out_count, out_room;
	char **texts;            /* names of folded chains in it */
	size_t text_count, text_room;
	uint32_t *place;         /* row number -> index in out + 1 */
	size_t place_room;

	char *search;
	uint8_t *hit_of_fn;      /* 0 not asked, 1 no, 2 yes */
	size_t hit_room;

	struct filter filter;
	struct site_table *sites;
};

/* query_tree.c */
void tree_clear(struct query *q);
uint32_t tree_root(const struct query *q);
void tree_build(struct query *q, uint32_t row);   /* children up to date */
void tree_value(struct query *q, uint32_t row);   /* incl and self up to date */
uint32_t tree_tail(struct query *q, uint32_t row);/* end of the folded chain */
const struct value *tree_total(struct query *q);
void tree_refresh(struct query *q);               /* before anything else */

/* query_filter.c */
bool filter_on(const struct query *q);
void filter_update(struct query *q);
const struct value *filter_self(const struct query *q, uint32_t index);
const struct value *filter_incl(const struct query *q, uint32_t index);
void filter_release(struct filter *f);
bool text_has(const char *text, const char *part); /* without case; NULL text has nothing */

/* query_sites.c */
void sites_free(struct query *q);
uint32_t sites_top_growing(struct query *q, int64_t *net, const struct site **site); /* 0 = none */
/* query_shape.c */
enum shape shape_of(const int64_t *net, const uint64_t *ns, size_t count, uint64_t live, uint32_t *grew);

void value_add(struct value *v, const struct value *d);

#endif
