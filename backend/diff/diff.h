/* SPDX-License-Identifier: MIT
 *
 * diff.h - what changed between sessions: A's, the first ones, and B's. Main thread only.
 *
 * Stacks of all sessions that are the same code are joined (diff/join.h). Rows are the joined
 * stacks, and their sums by owner and by call site, with one amount for each session. The change of
 * a row is the mean of B's sessions less the mean of A's. So, for each session and each amount,
 *     sum over stacks = sum over owners = sum over call sites = totals
 * and the same holds for the changes.
 */
#ifndef DIFF_DIFF_H
#define DIFF_DIFF_H

#include "diff/join.h"

#define DIFF_SESSIONS_MAX 32u

enum diff_value { DIFF_LIVE, DIFF_BLOCKS, DIFF_ALLOCATED, DIFF_BLOCKS_ALLOCATED };
const char *diff_value_name(enum diff_value v); /* "live" */
static inline uint64_t diff_amount(const struct tally *t, enum diff_value v)
{
	return v == DIFF_LIVE        ? live_bytes(t)
	       : v == DIFF_BLOCKS    ? live_blocks(t)
	       : v == DIFF_ALLOCATED ? t->alloc_bytes
				     : t->alloc_blocks;
}

/* The blocks that belong to an amount. */
static inline enum diff_value diff_blocks_of(enum diff_value v)
{
	return v >= DIFF_ALLOCATED ? DIFF_BLOCKS_ALLOCATED : DIFF_BLOCKS;
}

/* new: A's sessions allocated nothing there; gone: B's did not */
enum diff_kind { DIFF_SAME, DIFF_GROWN, DIFF_SHRUNK, DIFF_NEW, DIFF_GONE };
const char *diff_kind_name(enum diff_kind k);

struct diff_row {
	const struct tally *sums; /* one for each session */
	const char *owner;        /* as shown; NULL: of totals */
	/* of call sites, and of the first stack: the function, and the caller on the stack that
	 * changed most */
	const char *name, *caller, *file;
	uint32_t line;
	uint32_t stack;  /* the joined stack that changed most */
	uint32_t stacks; /* joined stacks here */
	int64_t moved;   /* the change, times the count of A's and of B's sessions */
	enum diff_kind kind;
	/* the runs of one side differ as much (diff/noise.h), or the peaks' call paths may */
	bool noise;
};

struct diff_rows { /* largest change first */
	struct diff_row *list;
	size_t count;
	struct tally *sums; /* of all rows; owned */
};

struct diff {
	const struct side *const *sides; /* A's first; borrowed */
	size_t sides_a, sides_count;
	enum diff_value value;
	struct join *join;
	uint64_t *sites_of; /* by joined stack: equal for two of one call site */
	struct diff_row totals;
	struct diff_rows stacks, owners, sites;
	bool judged;     /* noise was judged: */
	bool by_runs;    /* by the sessions of each side */
	uint64_t lacked; /* or by bytes: the most that a side's call paths lack of its peak */
};

struct diff *diff_new(const struct side *const *sides, size_t sides_a, size_t count,
		      enum diff_value value);
void diff_free(struct diff *d);

static inline uint64_t diff_site(const struct diff *d, uint32_t joined)
{
	return d->sites_of[joined];
}

/* The mean of one side's sessions, and the change, of any value. */
double diff_mean(const struct diff *d, const struct tally *sums, bool b, enum diff_value v);
double diff_change(const struct diff *d, const struct tally *sums, enum diff_value v);

/* Sets moved, kind and noise of a row whose sums are known. */
void diff_judge(const struct diff *d, struct diff_row *r);

/* The nearest whole number of an amount. */
static inline uint64_t diff_round(double n)
{
	return (uint64_t)(n + 0.5);
}

/* Rows without a change, or within the noise. */
struct diff_rest {
	size_t count;
	double a, b; /* means of the value */
};
void diff_rest_add(const struct diff *d, struct diff_rest *rest, const struct diff_row *row);

/* One sentence: by how much the totals differ, and which call site changed most. Cleaned for a
 * line of text. */
#define DIFF_SENTENCE 512
void diff_sentence(const struct diff *d, char out[DIFF_SENTENCE]);
/* What counts as noise; "" = noise was not judged. */
#define DIFF_RULE 512
const char *diff_noise_rule(const struct diff *d, char out[DIFF_RULE]);
/* "GREW", "SHRANK" or "SAME": some owner or call site changed beyond the noise. */
const char *diff_word(const struct diff *d);

#endif
