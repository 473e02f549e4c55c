/* SPDX-License-Identifier: MIT
 *
 * replay.h - makes a shown model show another instant of its session. Main thread only.
 *
 * There are two models: the shown one, which views, names and owners use, and the one that receives
 * the stream. They are the same until replay_go(). After the arrival, the shown one holds the
 * session as of the instant, played from its file, and the other receives the stream.
 * replay_return() gives the shown one the current state. To its users, only its figures have
 * changed (model/rewind.c says why).
 *
 * Playing runs in slices of the loop; until the arrival the old state stays on screen. A later
 * instant is played from the shown one on, an earlier one from the start of the session.
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
