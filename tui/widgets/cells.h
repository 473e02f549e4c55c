/* SPDX-License-Identifier: MIT
 *
 * cells.h - cells that several tables share. Main thread, while the terminal is on.
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

/*
 * Sets the prefix of every other sum until the next call: GLYPH_AT_LEAST (still loading, so the sum
 * is a lower bound), or "". Returns the old one.
 */
const char *cells_prefix(const char *prefix);

/* Shows live sizes in percent of `all` until the next call; 0 = in bytes, the default. */
void cells_percent_of(uint64_t all);

/* The kind of a size column: its width follows the largest size of that kind, in the current
 * units. */
enum size_kind {
	SIZE_NONE,
	SIZE_HELD /* at one time */,
	SIZE_IN_ALL /* since the start */,
	SIZE_KINDS
};
void cells_largest(uint64_t held, uint64_t in_all); /* until the next call */
int cells_wider(enum size_kind k);                  /* extra width beyond K, M, G */

void cell_text(struct cell c, enum role r, const char *s); /* left, cut at its end */
void cell_bytes(struct cell c, uint64_t bytes); /* in K, M, G where the current units do not fit */
void cell_live(struct cell c, uint64_t bytes);  /* live bytes, or their share */
/* whole percent; 0 and 100 only for none and all of it */
void cell_part(struct cell c, uint64_t part, uint64_t all);
void cell_net(struct cell c, int64_t bytes); /* signed, red or green */
void cell_count(struct cell c, uint64_t n);  /* 812,004 or 812.0k as it fits */
void cell_count_net(struct cell c, int64_t n);
void cell_rate(struct cell c, double per_second);
void cell_unknown(struct cell c); /* a dash: the instant does not have it */
/* the oldest one's, or the median; or nothing */
void cell_age(struct cell c, const struct age *a, bool oldest);
void cell_life(struct cell c, const struct site *s); /* or nothing */
/* An owner's letter: ' ' before it holds memory, '?' for an unknown owner. NULL: ' '. */
char cells_letter(const struct owner *o);
void cell_owner(struct cell c, char letter, const char *name);  /* letter and name in its colour */
void cell_file(struct cell c, const char *file, uint32_t line); /* empty when unknown */
void cell_place(struct cell c, char letter, const char *file, uint32_t line, const char *module);
void cell_shape(struct cell c, const struct site *s);
void cell_site(struct cell c, const struct site *s); /* "call site < caller" */

static inline int64_t net_bytes(const struct change *c)
{
	return (int64_t)(c->born_bytes - c->gone_bytes);
}
static inline int64_t net_blocks(const struct change *c)
{
	return (int64_t)(c->born_blocks - c->gone_blocks);
}

#endif
