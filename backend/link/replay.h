/* SPDX-License-Identifier: MIT
 *
 * replay.h - a model that others look at shows another instant of its session. Main thread only.
 *
 * There are two models: the one that is shown, which views, names and owners are made on, and the
 * one that the stream goes into. They are the same until replay_go(); from the arrival on the shown
 * one holds the session as it was at the instant, played from its file, while what the stream
 * brings goes into the other. replay_return() gives the shown one what is now. Nothing that was
 * made on the shown one notices more than that all its figures may have changed (model/rewind.c
 * says why).
 *
 * Playing takes its time in slices of the loop; until the arrival what was shown stays. A later
 * instant is played on from the one that is shown, an earlier one from the session's begin.
 */
#ifndef LINK_REPLAY_H
#define LINK_REPLAY_H

#include "model/model.h"

struct loop;
struct replay;

/* moved: another instant is shown, or now again; of an arrival that brought nothing new, too. */
struct replay *replay_new(struct loop *loop, struct model *shown, void (*moved)(void *arg),
			  void *arg);
void replay_free(struct replay *p); /* `shown` holds what is now */
/* Begins to go to the last instant up to a time (the first, where none is; model_instants() of what
 * is now), from a file that holds the session of what is now. 0; -1 and *err. */
int replay_go(struct replay *p, const char *path, uint32_t stream, uint64_t time_ns,
	      struct err *err);
/* Shows what is now; forgets where it was going. */
void replay_return(struct replay *p);
struct model *replay_now(const struct replay *p); /* what the stream goes into */
bool replay_away(const struct replay *p);         /* that is not the one that is shown */
int replay_percent(const struct replay *p);       /* of the way; 100 = arrived */
/* why the file ended before the instant; "" = it did not */
const char *replay_problem(const struct replay *p);

#endif
