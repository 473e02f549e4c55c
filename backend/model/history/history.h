/* SPDX-License-Identifier: MIT
 *
 * history.h - the past of a session: its instants, marks, samples and graphs. Main thread
 * only.
 */
#ifndef MODEL_HISTORY_HISTORY_H
#define MODEL_HISTORY_HISTORY_H

#include "model/paths/types.h"
#include "model/paths/event.h"
#include "model/paths/quota.h"

struct columns;
struct frames;

/*
 * --- series.c: the history: points oldest first, denser the younger they are.
 *
 * First come the agent's own points (since it was loaded), then one per tick, ten a second at most.
 * They thin out by the rule of base/ages.h up to two hours, and all older time keeps some six
 * hundred, so that a graph is sharp over ten seconds and over a month. The first and the newest
 * point always stay.
 */

#define SERIES_MAX 3000
#define SERIES_AGENT_MAX 600 /* the agent has no more points; more are dropped */

struct series {
	struct point points[SERIES_MAX];
	uint64_t owner_bytes[SERIES_AGENT_MAX][MTW_HISTORY_OWNERS_MAX]; /* of the agent's points */
	size_t count, from_agent;                /* the first from_agent points have owner_bytes */
	uint32_t owners[MTW_HISTORY_OWNERS_MAX]; /* modules of owner_bytes' columns */
	size_t owner_count;
	uint64_t spacing_ns; /* spacing of the oldest points; 0 = never thinned */
};

void series_clear(struct series *s);
void series_start(struct series *s, const uint32_t *owners, size_t count);
void series_agent(struct series *s, const struct point *p, const uint64_t *owner_bytes);
void series_tick(struct series *s, const struct point *p);
/* Appends the points of `more` after the last one: the agent ran while memtop was away. */
void series_join(struct series *s, const struct series *more);

/* instants.c: the instants at which the session is complete, and the instant of each scan's
 * answer. */

/* at this they thin out by their age: 1 MiB, an hour and 49 minutes of ticks */
#define INSTANTS_MAX (1u << 16)

struct instants {
	struct instant *list; /* by time */
	size_t count, room;
	uint64_t ticks_read; /* ticks of this program, whether they took effect or not */
	/* session time of the newest answer of a kind; 0 = none came */
	uint64_t looked_ns[MTW_KIND_COUNT];
	uint64_t answers[MTW_KIND_COUNT]; /* their number, including empty ones */
};

/* Before each tick: is there no room for it? */
bool instants_full(const struct instants *x);
/* The rule of base/ages.h. Also stay: the first and the last one, and the last one up to each of
 * these times, which ascend. */
void instants_thin(struct instants *x, const uint64_t *pins, size_t n);
void instants_tick(struct instants *x, uint64_t time_ns, uint32_t flags);
/* time_ns 0: at the last tick, tick_ns */
void instants_looked(struct instants *x, enum mtw_kind kind, uint64_t time_ns, uint64_t tick_ns);
/* of those up to the last of these ticks, only theirs */
void instants_keep(struct instants *x, const uint64_t *ticks, size_t n);
void instants_clear(struct instants *x);

/* marks.c: marks, and what was alive at them. */

struct marks {
	struct mark *list; /* by id */
	size_t limit, room;
	uint64_t generation;
	uint64_t chain; /* model_marks_chain() */
};

int marks_check(const struct marks *x, const struct event *e, struct err *err);
bool marks_known(const struct marks *x, uint32_t id);
/* Enters a checked MARK. resuming: it is unknown until marks_arrive(). True: its live amounts
 * are lost. */
bool marks_enter(struct marks *x, struct quota *q, const struct event *e, bool resuming);
/* Enters a MARK_LIVE; 1: a cell, whose slot must be known. *anew: the mark was known by slot, and
 * is unknown until all cells have arrived again. */
int marks_cell(struct marks *x, struct quota *q, const struct event *e, bool resuming, bool *anew,
	       struct err *err);
void marks_arrive(struct marks *x); /* the state that they arrived with is complete */
void marks_clear(struct marks *x);
bool mark_in_chain(const struct mark *k); /* its live amounts by slot are known, or will be */

/* cells.c: each slot's live amount at an instant (struct mark_cells). */

int cells_add(struct quota *q, struct mark_cells *k, struct mark_cell cell, struct err *err);
void cells_finish(struct quota *q, struct mark_cells *k); /* all cells have arrived */
/* Merges `older` below k's own. first: nothing is before k now, so cells that hold nothing go. */
void cells_merge(struct quota *q, struct mark_cells *k, const struct mark_cells *older, bool first);
void cells_forget(struct quota *q, struct mark_cells *k);
/* The same cells, once all have come, also when `k` gets others. cells_drop(), by any thread. */
struct mark_cells cells_hold(const struct mark_cells *k);
void cells_drop(struct mark_cells *k);
bool cells_next(const struct mark_cells *k, struct cell_at *x, struct mark_cell *cell);
/* As MTW_MARK_LIVE or MTW_SAMPLE_LIVE frames; whole: the last one says so. known: only cells of its
 * slots, NULL = of all; at one that the columns do not know the link was closed. */
void cells_write(const struct mark_cells *k, struct frames *to, uint64_t type, uint32_t number,
		 bool whole, const struct columns *known);

/* samples.c: the agent's samples, by which growth is judged. */

struct samples {
	struct sample list[MTW_SAMPLES_MAX];
	size_t count, last; /* last: the one found last */
	bool told, totals_only;
	uint64_t generation;
};

int samples_apply(struct samples *x, struct quota *q, const struct event *e, struct err *err);
/* 1: a cell, whose slot must be known */
int samples_cell(struct samples *x, struct quota *q, const struct event *e, bool resuming,
		 struct err *err);
void samples_clear(struct samples *x);

#endif
