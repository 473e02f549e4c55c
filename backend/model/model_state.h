/* SPDX-License-Identifier: MIT
 *
 * model_state.h - the whole model, for the files of model/ alone. Each folder below has its own
 * header; a file that needs one part includes only that.
 */
#ifndef MODEL_MODEL_STATE_H
#define MODEL_MODEL_STATE_H

#include "heap/take.h"
#include "model/state/cohorts.h"
#include "model/paths/event.h"
#include "model/interval.h"
#include "model/paths/locations.h"
#include "model/model.h"
#include "model/state/state.h"
#include "model/state/stops.h"
#include "model/paths/quota.h"
#include "model/paths/rate.h"
#include "model/history/history.h"
#include "model/tick.h"
#include "wire/frames.h"

struct history { /* coming: sent again while resuming; no points = not sent */
	struct series series, coming;
};

/* Whose the call paths and counters are: model/columns.c. */
struct maker {
	struct columns columns;        /* the worker's while it works, as is */
	struct heap_batch given;       /* ... what it takes in; */
	struct heap_batch coming;      /* this comes next */
	struct err err;                /* of what it took; */
	bool failed;                   /* ... it did not go in */
	struct worker *worker;         /* NULL: in line */
	struct heap *heap, *made;      /* made: by the worker, while it works */
	struct mark_chain from, until; /* rebase: the worker takes them */
	bool rebase, changes;
	uint32_t since_of, given_since; /* model_count_since() */
	struct mark_chain since;
	/* that the heap is of; given_: the one that is being made; interval: by its generation */
	uint64_t ticks, given_ticks, resets, given_interval;
	uint64_t awaited; /* model_awaited() */
	bool complete, given_complete, based;
	bool paced;                /* model_set_paced() */
	bool wanted;               /* somebody looked while the worker was busy */
	bool settling;             /* ... or model_settled() said no */
	uint64_t made_ns, cost_ns; /* when the heap was made, and how long that took */
};

struct peak_said {              /* what each slot had is the columns' (heap/peak.h) */
	struct peak_instant at; /* time_ns, sum; whole alone */
	bool whole, coming;     /* coming: the next one has not come whole */
	uint32_t serial;
};

struct model {
	struct program program;
	bool hello;
	struct totals totals, totals_staged;
	bool totals_pending;
	uint32_t state;
	int status;
	bool status_known;
	bool complete, final;
	bool resuming;      /* complete, greeted again, and the new state is incomplete */
	bool tick_complete; /* the last tick had the flag: totals = sum over slots */
	bool still;         /* model_set_still() */
	struct program_end cut_end;
	uint64_t time_ns, ticks, resets;
	/* as the columns had them last: see there */
	uint64_t sampled_epoch;
	bool estimated;
	struct tally inherited;
	uint64_t arrivals; /* model_arrivals() */
	bool mid_tick;     /* counters came since the last tick */

	struct quota quota;
	struct locations locations;
	struct modules modules;
	struct threads threads;
	struct marks marks;
	struct samples samples;
	struct stops stops;
	struct peak_said peak;
	struct interval interval;
	struct figures figures;
	struct options options;
	struct notices notices;
	struct filters filters;
	struct instants instants;
	struct scanned_ages ages;
	struct rss_answers rss;
	struct cohort_scans cohorts;
	struct rate_book rates;
	struct history history;
	void (*read_end)(void *arg); /* model_read_apart() */
	void *read_arg;
	void (*on_notice)(void *arg, const char *text);
	void *notice_arg;
	struct maker *maker;
};

/* dump.c: parts of model_dump(), as far as `has` lacks them. The program and its modules. */
int dump_program(const struct model *m, const struct model *has, frames_fn fn, void *arg);
/* What the model knows of the time up to an instant; for a model that has a state the marks alone.
 */
int dump_past(const struct model *m, uint64_t until_ns, const struct model *has, frames_fn fn,
	      void *arg);
/* restore.c: applies MTW_S_INSTANTS, MTW_S_POINTS, MTW_S_WINDOW (with its THREADS), MTW_S_KEY. -1
 * and *err: outside a key frame, or bad counters */
int restore_apply(struct model *m, const struct event *e, struct err *err);

static inline void model_mine(struct model *m) /* every change begins with this */
{
	if (m->read_end)
		m->read_end(m->read_arg);
}

#endif
