/* SPDX-License-Identifier: MIT
 *
 * query.h - rows for a view. One thread at a time; see query_apart().
 *
 * The contract alone: the files of query/ implement it, and above them those of query/tree/,
 * query/sites/ and query/answers/.
 *
 * A tree row is a set of trie nodes that share a function under the same parent row; inlined frames
 * are rows of their own, or not (query_set_inlined()). Children are grouped when a row is opened
 * and regrouped when their names arrive. A row keeps its id: open and selected rows follow a node,
 * never the line. Only open rows cost anything.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "owners/owner.h"

typedef uint32_t row_id; /* stable within one query; 0 = none */

/* clang-format off */
enum query_column {          /* what rows are sorted by, largest first */
	BY_LIVE, BY_BLOCKS, BY_NET, BY_BORN, BY_GONE, BY_SELF, BY_RATE, BY_ALLOC, BY_NAME,
	BY_GROWTH,           /* of call sites: the likeliest leak first */
	BY_AGE, BY_OLDEST,   /* as far as query_ages() knows; unknown ones come last */
	BY_CHURN, BY_LIFE,   /* ... the shortest life first */
	BY_OWN = 64,         /* from here on: what other rows than a query's are sorted by */
};
/* clang-format on */

enum {
	ROW_OPEN = 1u << 0,
	ROW_LEAF = 1u << 1,
	ROW_PENDING = 1u << 2 /* name not here yet */,
	ROW_INLINED = 1u << 3,
	ROW_TRUNCATED = 1u << 4,
	ROW_ZERO = 1u << 5 /* nothing left: drawn dim */,
	ROW_REST = 1u << 6 /* "... 812 more" */,
	ROW_HIT = 1u << 7 /* matches the search */,
	ROW_EXPECTED = 1u << 8,
	ROW_NET_TRUNC = 1u << 9,
	ROW_GENERATED = 1u << 10 /* code of no module */,
};

struct row {
	struct amounts amounts; /* first; inclusive */
	row_id id, parent;
	uint32_t depth;       /* indentation level on screen (folded chains count once) */
	uint32_t flags;       /* ROW_* */
	const char *name;     /* short function name; "main > loop" of a folded chain */
	const char *function; /* full, demangled; NULL = unknown */
	const char *file;     /* NULL = unknown */
	uint32_t line;
	uint32_t folded; /* frames in the chain; 1 = not folded */
	uint32_t named;  /* the frame, from 1, that place and full name belong to */
	uint32_t paths;  /* distinct trie nodes merged in the row */
	uint32_t module; /* NO_ID = none */
	const struct owner *owner;
	uint32_t node;      /* one of its trie nodes (heaviest) */
	struct tally self;  /* the part that the function itself allocated */
	bool self_estimate; /* it has a sampled share */
};

/* One function (or line) that allocates. */
enum shape {
	SHAPE_STEADY,
	SHAPE_SLOWING,
	SHAPE_STEP,
	SHAPE_SAWTOOTH,
	SHAPE_FLAT,
	SHAPE_YOUNG,
	SHAPE_SHRINKING,
};
struct site {
	struct amounts amounts;    /* first */
	uint32_t id;               /* stable */
	uint32_t leaf;             /* heaviest stack's leaf node */
	const char *name, *caller; /* call site < caller */
	const char *function, *file;
	uint32_t line, module;
	const struct owner *owner;
	bool churn_known;
	uint64_t churn_bytes; /* allocated and freed again, per second */
	enum life { LIFE_UNKNOWN, LIFE_BELOW, LIFE_ABOUT, LIFE_ABOVE } life;
	/* mean lifetime of its blocks; ABOVE: time without a free */
	uint64_t life_ns;
	uint32_t stacks;
	uint32_t flags; /* ROW_* */
	enum shape shape;
	uint32_t grew, intervals; /* "3 of 3" */
	/* rise of its low over the shape's window, in bytes */
	int64_t net_window, net_per_min;
	const uint64_t *trend; /* live bytes at the samples, oldest first; now they are trend_end */
	uint64_t trend_end;
	uint32_t trend_count;
};

struct query;
struct query *query_new(struct model *m, struct symbols *s, struct owners *o);
void query_free(struct query *q);

/*
 * Answers by another thread: query_newest(), query_apart(q, wait, arg), then a thread calls
 * query_answer(). It gets answers of that snapshot, with the names that are known by then, until
 * query_apart(q, NULL, NULL); query_names() asks for the others. Meanwhile the model stays as it is
 * (model_read_apart()), and what any other thread asks of the query calls wait(arg) first, which
 * returns when the first has ended and nothing is apart any more.
 */
void query_newest(struct query *q); /* takes the newest snapshot. Main thread */
void query_apart(struct query *q, void (*wait)(void *arg), void *arg);
void query_answer(struct query *q, void (*fn)(void *arg),
		  void *arg); /* calls fn(arg). Any thread */
/* Asks for the names that answers met. True: some are known at once, ask again. Main thread. */
bool query_names(struct query *q);
/* A search or filter has not asked for all names yet: the next query_newest() goes on. */
bool query_asks(const struct query *q);
bool query_large(const struct query *q); /* answers may take long */
/* The call tree. */
void query_set_inverted(struct query *q, bool on);
bool query_inverted(const struct query *q);
/*
 * Inlined functions are rows of their own (the default), or merged into the function that they were
 * inlined into. Applies to both trees. Rows keep their ids and stay open where their function still
 * has a row.
 */
void query_set_inlined(struct query *q, bool on);
bool query_inlined(const struct query *q);
void query_set_sort(struct query *q, enum query_column by, bool reverse);
/*
 * "" = none; words match function, module, file; lib:X size>N grew new. age>60s age<5m thread:X:
 * LIVE and BLOCKS cover only such blocks, as of the newest scan for cohorts; other columns still
 * cover whole stacks. -1 and *err: the filter is unchanged.
 */
int query_set_filter(struct query *q, const char *text, struct err *err);
/* Is it one? by_cohort: it needs such scans. -1 and *err: no. Any thread. */
int query_check_filter(const char *text, bool *by_cohort, struct err *err);
bool query_by_cohort(const struct query *q); /* the filter needs such scans */
enum { QUERY_ZOOMS_MAX = 16 };
int query_zoom(struct query *q, row_id id); /* its subtree becomes the whole; 0 = out one level */
/* rows zoomed into; fewer when one has gone */
size_t query_zoom_depth(struct query *q);
int query_zoom_owner(struct query *q, uint32_t module);
/* All open rows, in screen order. Sorts only when `resort`; otherwise rows keep their order and
 * new ones come last. Borrowed until the next call, or, after query_rows_keep(), until the next
 * call of that. */
size_t query_rows(struct query *q, bool resort, const struct row **rows);
void query_rows_keep(struct query *q); /* the last ones */
/*
 * What a shown row sums: fn() gets each of its nodes; below: with all nodes below it, else what the
 * node itself allocated. False: the row folds several.
 */
typedef void query_node_fn(void *arg, uint32_t node, bool below);
bool query_row_nodes(const struct query *q, row_id id, query_node_fn *fn, void *arg);
/* Do rows count the stack? A filter, or a zoom into a library, leaves stacks out. */
bool query_passes(const struct query *q, uint32_t leaf);
size_t query_index(const struct query *q, row_id id); /* in query_rows(); SIZE_MAX = gone */
int query_open(struct query *q, row_id id, bool open);
/* Returns the number of rows left. */
size_t query_open_below(struct query *q, row_id id, bool open, size_t limit);
/* Follows the sort column to the first fork; returns the last row. */
row_id query_open_heaviest(struct query *q, row_id id);
void query_unfold(struct query *q, row_id id);          /* toggle a folded chain */
row_id query_open_node(struct query *q, uint32_t node); /* opens the parents of a trie node */
/* Searches names, case-insensitive; "" = no search. Rows whose name has it get ROW_HIT. */
void query_search(struct query *q, const char *text);
/* Opens the parents of the hits, and counts them; *pending = unknown names. Where another thread
 * asks, names that came just now may be missing: owners_hurry() has the next snapshot have them. */
size_t query_hits(struct query *q, size_t *pending);
row_id query_search_next(struct query *q, row_id from, bool backwards);

/* Call sites, flat. */
size_t query_sites(struct query *q, enum query_column by, bool reverse, bool resort,
		   const struct site **sites);
/* How many of them, the last ones, held nothing from the base to now: all of it was freed before.
 * 0 without a base, and between two marks. */
size_t query_sites_empty(const struct query *q);
/* A copy of the last query_sites(), which lives on. Begin with {0}. */
struct sites_kept {
	struct site *list;
	size_t count, room, empty;    /* query_sites_empty() */
	struct site_figures *figures; /* query/sites/marks.h: what their trends lie in */
};
void query_sites_keep(const struct query *q, struct sites_kept *to);
void sites_kept_release(struct sites_kept *k);
/* time span of shapes and net_window, in ns; 0 = none yet */
uint64_t query_window(const struct query *q);
/* Rules for expected sites (owners/expected.h): their rows have ROW_EXPECTED, and are no
 * findings. Borrowed; NULL (the default): none. */
struct expected;
void query_expect(struct query *q, const struct expected *e);
/* The id of a stack's call site, as of the last query_sites(); 0 = none. */
uint32_t query_site_of(const struct query *q, uint32_t leaf);
/* The site's key for rules; EXPECTED_KEY_MAX bytes. False: no such site. */
bool query_site_key(struct query *q, uint32_t site, char *key);
/* The same for a stack's call site. */
void query_stack_key(struct query *q, uint32_t leaf, char *key);
bool query_expected(struct query *q, uint32_t leaf); /* is this stack's call site expected? */

/* Call it before the model shows another instant: rates between the two do not count. */
void query_travel(struct query *q);
/* The shown instant is only on the way to another: growth, shapes and the verdict wait. */
void query_pass(struct query *q, bool on);

/* Ages of live blocks (that pass the filter), as of the newest scan for cohorts. */
struct age {
	uint32_t median_s, oldest_s;
	bool known;
};
/* Requests ages of tree rows or call sites. Ages still unknown arrive for a later call. */
void query_ages(struct query *q, bool sites, const uint32_t *ids, size_t count, struct age *out);
uint64_t query_ages_version(const struct query *q); /* moves when more become known */

/* The verdict (line 2). */
struct verdict {
	enum verdict_kind {
		V_WATCHING,
		V_FLAT,
		V_GROWING,
		V_FILLING,
		V_STEP,
		V_SHRINKING,
		V_RSS_GROWING,
		V_ENDED,
		V_EMPTY,
	} kind;
	const char *word; /* "GROWING": the first word of text, or "WATCHING", "WAITING" */
	/* What the heap did, also of a program that ended: kind is then V_ENDED and word "EXITED",
	 * and here is what they would be if it ran. Unknown: as kind and word. */
	enum verdict_kind growth;
	const char *growth_word;
	/* "GROWING +2.4M/min for 10 min, steady.  94 % of it: f"; after the end, "EXITED, " stands
	 * before that */
	char text[256];
	uint32_t site;      /* the site that it names, 0 = none */
	bool rated;         /* the three below are known */
	int64_t per_minute; /* bytes; of RSS for V_RSS_GROWING */
	/* the time span; its end, at the agent's newest sample */
	uint64_t over_ns, at_ns;
	uint64_t needed_ns; /* WATCHING: time until a verdict; else 0 */
	int share_percent;  /* of the site, or of expected sites; -1 = none is named */
};
/* Uses the agent's samples alone: every viewer, also of a file, gets the same verdict for an
 * instant. */
void query_verdict(struct query *q, struct verdict *v);
/* The verdict on growth alone, whether the program has ended or not: EXITED is its state, and
 * GROWING what its heap did. False: none is possible at this instant; the text says why. */
bool query_growth(struct query *q, struct verdict *v);

/* Marks: net by interval, for the sites that changed between two marks (to 0 = now). */
struct interval_row {
	struct site site;
	int64_t *net;
	size_t count;
};
/* Of all sites together: *list has what was born and gone at each mark since the mark before that
 * keeps its live amounts, by the mark's id, for ids below the returned one. Each is counted once.
 */
uint32_t query_marks(struct query *q, const struct change **list);
/* ... and from a mark to now, as of the last query_marks(), if its snapshot says so:
 * model_count_since(). */
bool query_since_mark(struct query *q, uint32_t mark, struct change *sum);
/* The rows are the caller's; they are good as long as the names are (see struct sites_kept). */
struct intervals_kept {
	struct interval_row *list;
	size_t count, room;
	int64_t *nets; /* of all rows */
	size_t net_room;
	struct site_figures *figures;
};
size_t query_intervals(struct query *q, uint32_t from, uint32_t to, struct intervals_kept *rows);
void intervals_kept_release(struct intervals_kept *k);

/* What a node holds: `below`, with all below it, else of its own. Whatever the filter. */
struct amounts query_node(struct query *q, uint32_t node, bool below);

/* One stack, innermost first: frames for reports and the detail view. */
struct frame_out {
	const char *function, *file, *module;
	uint32_t line, module_id;
	uint64_t offset, address;
	uint32_t location; /* number; with `part`, the frame of that code: 0 is the innermost */
	uint32_t part;
	bool inlined, has_offset;
	bool site; /* the call site: the innermost frame that is no allocation wrapper */
	/* found by the frame pointer of the previous frame, whose code has no unwind table */
	bool by_pointer;
};
size_t query_stack(struct query *q, uint32_t leaf, struct frame_out *out, size_t max);

/* The names of a stack's first `nodes` nodes, from its innermost outwards, are on screen: fetch
 * them and their lines first. */
void query_hurry(struct query *q, uint32_t leaf, uint32_t nodes);

/* Source: live memory by line, of all stacks whose call site is there, whatever the filter
 * shows. */
struct source_line {
	uint32_t number;
	uint64_t live_bytes, live_blocks;
	bool estimate;
};
/* The lines of a file with live memory, in order; borrowed until the next call. One
 * file at a time; false: NULL, stop. */
bool query_lines(struct query *q, const char *file, const struct source_line **list, size_t *count);

#endif
