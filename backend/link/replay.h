/* SPDX-License-Identifier: MIT
 *
 * replay.h - makes a shown model show another instant of its session: the one way there, for [ and
 * ], :at, --at, ?at=, a mark and the heap's peak. Main thread only.
 *
 *   the nearest key frame before it, or the session's start
 *   -> the session's frames up to its tick
 *   -> for a mark, what was live in each slot then; for the peak that alone (model/past.c)
 *   -> the result changes places with the shown model
 *
 * There are two models: the shown one, which views, names and owners use, and the one that receives
 * the stream. They are the same until replay_go(). After the arrival, the shown one holds the
 * session as of the instant, and the other receives the stream. replay_return() gives the shown one
 * the current state. To its users, only its figures have changed (model/past.c says why).
 *
 * A thread plays the frames into a third model; until the arrival the old state stays on screen.
 */
#ifndef LINK_REPLAY_H
#define LINK_REPLAY_H

#include "model/model.h"

struct loop;
struct replay;
struct session_writer;

/* moved: called when another instant or the current state is shown; also for an arrival that
 * changed nothing. */
struct replay *replay_new(struct loop *loop, struct model *shown, void (*moved)(void *arg),
			  void *arg);
void replay_free(struct replay *p); /* `shown` then has the current state */
/* Starts towards the last instant up to time_ns (the first if none is), from a file that holds
 * the current session; NULL: there is none, and the instant is one of model_kept_at(). w: who
 * writes it, NULL = nobody here. wait: it has arrived on return; without thread and loop, so in a
 * forked child, too. Takes the place of a replay under way. 0; -1 and *err. */
int replay_go(struct replay *p, const char *path, uint32_t stream, const struct session_writer *w,
	      uint64_t time_ns, bool wait, struct err *err);
/* Shows the current state; cancels a replay under way. */
void replay_return(struct replay *p);
struct model *replay_now(const struct replay *p); /* the model that receives the stream */
bool replay_away(const struct replay *p);         /* it is not the shown model */
int replay_percent(const struct replay *p);       /* of the way; 100 = arrived */
/* At a mark: the recorded instant whose threads, scans and resident memory are shown; 0 = none, or
 * the instant shown is one. */
uint64_t replay_beside(const struct replay *p);
/* why the file ended before the instant; "" = it did not end early */
const char *replay_problem(const struct replay *p);

#endif
