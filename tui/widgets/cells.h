/* SPDX-License-Identifier: MIT
 *
 * cells.h - what a column is, and how its cells are drawn. Main thread, while the terminal is on.
 *
 * A column is a function from a row to a value: a number, whether it is known, whether it is an
 * estimate. Its kind says what the number is. From these the list (widgets/list_view.h) draws the
 * cell, sorts the rows and finds them. A column of something else than a number draws itself.
 * A column reads the row at hand, and its view where the row does not have it: never a query.
 */
#ifndef CELLS_H
#define CELLS_H

#include "screen/draw.h"
#include "query/query.h"

#define DIRECT_CALLER "DIRECT CALLER" /* column.direct of owners */

struct cell {
	const struct area *a;
	int y, x, w;
	bool estimate; /* partly sampled: draws "~" before it */
};

/* A function's name in a row, as base/name.h shortens it. */
struct cell_name {
	const char *name; /* what is shown where there is room */
	const char *full; /* in full; NULL = name */
	bool other;       /* a chain, which loses its middle */
	enum role role;
	const char *caller; /* " < caller" behind it, cut to what is left; NULL = none */
	int caller_least;   /* columns that it gets in any case; less: without it */
	const char *tail;   /* behind the name, whole and dim; NULL = none */
};
/* Draws the name. Between names_begin() and names_end() it waits for the names of the other rows,
 * so that two functions never read the same. */
void cell_name(struct cell c, const struct cell_name *n);
void names_begin(void);
void names_end(void);

/*
 * Sets the prefix of every other sum until the next call: GLYPH_AT_LEAST (still loading, so the sum
 * is a lower bound), or "". Returns the old one.
 */
const char *cells_prefix(const char *prefix);

/* Shows live sizes in percent of `all` until the next call; 0 = in bytes, the default. */
void cells_percent_of(uint64_t all);

/* The length of the window of all rates, until the next call; 0 = rates are 0. */
void cells_rates_over(uint64_t window_ns);

struct value {
	int64_t n;        /* see enum kind */
	enum known known; /* cells: the number; nothing; "-"; an ellipsis */
	bool estimate;    /* cells: "~" before the number */
};

enum kind {
	KIND_OWN,        /* no number. The title stands at the left */
	KIND_BYTES,      /* held at one time */
	KIND_LIVE,       /* the same, or its share: cells_percent_of() */
	KIND_NET,        /* bytes more, or less */
	KIND_ALLOCATED,  /* bytes since the start */
	KIND_BYTES_RATE, /* bytes in the window of rates; a cell shows them per second */
	KIND_CALLS,      /* calls in the window, likewise */
	KIND_COUNT,
	KIND_COUNT_NET,
	KIND_PART,  /* of all, CELL_WHOLE = all of it; in percent */
	KIND_AGE,   /* ns: "5 min" */
	KIND_SPAN,  /* ns: "1.5 s" */
	KIND_CLOCK, /* ns of the session: "0:14:09" */
	KIND_ID,    /* of the system: a search finds the whole number alone */
};
#define CELL_WHOLE 1000000000

struct line {
	const void *row;      /* begins with struct amounts where the table has amounts */
	void *view;           /* the table's; also for what stands beside the rows */
	size_t index, column; /* of the row, and in the table; a row that is sorted has neither */
};

struct column {
	const char *title;
	const char *direct; /* title while libraries count by direct caller; may be NULL */
	short width, wide;  /* as struct table_column has them */
	short sort;         /* for < >: enum query_column, or of BY_OWN; -1 = not sortable */
	enum kind kind;
	bool quiet; /* drawn dim */
	/* May be NULL for KIND_OWN. */
	struct value (*value)(const struct line *l);
	/* Draws the cell instead of its value. */
	void (*own)(const struct line *l, struct cell c);
	/* The row's i-th text, NULL past the last: rows are sorted by the first, a search finds
	 * all. NULL for most. */
	const char *(*text)(const struct line *l, size_t i);
};

#define COLUMN(name, heading, columns, by, is, ...)                                                \
	const struct column column_##name = {                                                      \
		.title = (heading), .width = (columns), .sort = (by), .kind = (is), __VA_ARGS__    \
	}

void column_draw(const struct column *k, const struct line *l, struct cell c);
bool column_finds(const struct column *k, const struct line *l, const char *text);
/* Below 0: a comes first. The largest does, or the first by name. */
int column_compare(const struct column *k, const struct line *a, const struct line *b);

/* Widths of sizes follow the largest ones in the current units, until the next call. */
void cells_largest(uint64_t held, uint64_t in_all);
int cells_wider(enum kind k); /* extra width beyond K, M, G */

static inline struct value value_part(uint64_t part, uint64_t all)
{
	double n = all ? (double)part / (double)all * CELL_WHOLE : 0;

	/* none and all of it stay apart from nearly none and nearly all */
	if (part && n < 1)
		n = 1;
	if (part < all && n > CELL_WHOLE - 1)
		n = CELL_WHOLE - 1;
	if (n > (double)INT64_MAX / 2) /* of a file whose figures contradict each other */
		n = (double)INT64_MAX / 2;
	return (struct value){ .n = (int64_t)n };
}
static inline struct value value_none(void)
{
	return (struct value){ .known = KNOWN_NONE };
}

void cell_number(struct cell c, enum kind k, int64_t n, bool quiet);
void cell_text(struct cell c, enum role r, const char *s); /* left, cut at its end */
/* An owner's letter: ' ' before it holds memory, '?' for an unknown owner. NULL: ' '. */
char cells_letter(const struct owner *o);
void cell_owner(struct cell c, char letter, const char *name);  /* letter and name in its colour */
void cell_file(struct cell c, const char *file, uint32_t line); /* empty when unknown */
void cell_source_line(struct cell c, char letter, const char *file, uint32_t line,
		      const char *module);
void cell_shape(struct cell c, const struct site *s);

static inline int64_t net_bytes(const struct change *c)
{
	return (int64_t)(c->born_bytes - c->gone_bytes);
}
/* Live at the base of the change; in a diff, in A. */
static inline uint64_t bytes_before(const struct amounts *a)
{
	return live_bytes(&a->sum) - (uint64_t)net_bytes(&a->change);
}
static inline int64_t net_blocks(const struct change *c)
{
	return (int64_t)(c->born_blocks - c->gone_blocks);
}

#endif
