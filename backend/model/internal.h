/* SPDX-License-Identifier: MIT
 *
 * internal.h - the whole model, for the files of model/ alone. Each folder below has its own
 * header; a file that needs one part includes only that.
 */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include "model/state/cohorts.h"
#include "model/paths/event.h"
#include "model/interval.h"
#include "model/paths/locations.h"
#include "model/model.h"
#include "model/observers.h"
#include "model/state/state.h"
#include "model/state/stops.h"
#include "model/paths/quota.h"
#include "model/paths/rate.h"
#include "model/history/history.h"
#include "model/tick.h"
#include "model/paths/trie.h"

struct history { /* coming: sent again while resuming; no points = not sent */
	struct series series, coming;
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
	uint64_t sampled_epoch; /* of the first weighed slot; UINT64_MAX = none */

	struct quota quota;
	struct locations locations;
	struct trie trie;
	struct modules modules;
	struct threads threads;
	struct marks marks;
	struct samples samples;
	struct stops stops;
	struct peak peak;
	struct interval interval;
	struct figures figures;
	struct options options;
	struct notices notices;
	struct filters filters;
	struct instants instants;
	struct scanned_ages ages;
	struct rss_answers rss;
	struct cohort_scans cohorts;
	struct tick tick;
	struct rate_book rates;
	struct history history;
	struct observers observers;
};

#define LOOK_EVERY 128u /* at the clock */
/* seen: steps of this slice. A late slice makes some progress, too. */
static inline bool time_is_up(size_t seen, uint64_t end_ns)
{
	return seen % LOOK_EVERY == LOOK_EVERY - 1 && end_ns != UINT64_MAX && now_ns() >= end_ns;
}

#endif
