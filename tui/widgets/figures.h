/* SPDX-License-Identifier: MIT
 *
 * figures.h - the numbers of one instant, copied: what the header, the verdict and the graphs show.
 *
 * The model's arrays are valid only until its next event, but the screen is drawn at any time and
 * must show one instant in all its parts (the same one while paused). So each refresh copies them
 * here. Main thread.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include "model/quality.h"
#include "query/query.h"
#include "link/watch.h"

#define FIGURES_OWNERS 26

struct figure_owner {
	const char *name; /* lives as long as the owners object */
	char letter;
	uint32_t module;
	struct amounts amounts;
	uint64_t *series; /* one per point; owned; counts where `known` says so */
};

struct figure_mark {
	uint32_t id;
	uint64_t time_ns;
};

struct figures {
	uint64_t taken_ns; /* now_ns() of the refresh */
	uint64_t time_ns;  /* session time of the last tick */
	/* the instant of all figures but graphs and marks: time_ns, or earlier */
	uint64_t at_ns;
	bool past;  /* at_ns is in the past */
	bool still; /* the session grows no more: its program ended, or it is a file */
	struct totals totals;
	uint64_t rss_bytes;
	uint32_t children;
	struct rates rates;
	uint64_t window_ns; /* of rates; 0 once the program or its record ended: they are 0 then */
	struct verdict verdict;
	uint64_t symbols_done, symbols_asked;
	uint64_t lost_events;
	struct quality quality;
	struct stop stop; /* times 0: the program runs */
	uint32_t state;   /* enum mtw_state */
	int status;
	bool status_known, complete, final;
	bool whole;           /* sums by library and stack are no lower bounds */
	struct point *points; /* owned */
	bool *known;          /* per point: owners are known; owned */
	size_t point_count, point_room;
	struct figure_owner owners[FIGURES_OWNERS]; /* heaviest first */
	size_t owner_count, owner_total;
	bool direct;        /* owners are direct callers (owners_direct()) */
	bool rest_estimate; /* for owners beyond FIGURES_OWNERS */
	bool estimate;      /* totals are partly sampled */
	struct figure_mark *marks;
	size_t mark_count, mark_room;
};

/* `graphed`: the owners of watch_now(), whose history the graphs show; o, unless the past is
 * shown. */
void figures_take(struct figures *f, struct watch *w, struct owners *o, struct owners *graphed);
/* The program or its record ended, so there are no rates. */
bool figures_over(const struct figures *f);
/* Whether rates can be said of this instant: those of its end are 0. */
bool figures_rated(const struct figures *f);
/* The figures are of this instant. */
bool figures_arrived(const struct figures *f, uint64_t at_ns);
void figures_release(struct figures *f);
/* Live bytes of owner i at a point (its history may be shorter). */
uint64_t figures_owner_at(const struct figures *f, size_t owner, size_t point);
/* First point from which owners are known without a gap; point_count: unknown even now. */
size_t figures_known_from(const struct figures *f);
/* The last point at or before a time; LIST_NONE-like SIZE_MAX before the first. */
size_t figures_point_at(const struct figures *f, uint64_t time_ns);

#endif
