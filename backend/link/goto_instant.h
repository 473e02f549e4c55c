/* SPDX-License-Identifier: MIT
 *
 * goto_instant.h - to an instant that a user named, for --at and ?at=. Main thread only.
 */
#ifndef LINK_GOTO_INSTANT_H
#define LINK_GOTO_INSTANT_H

#include "link/watch.h"

/*
 * Makes watch_model() show the instant `when` (link/when.h) on return. 0; -1
 * and *err: no such instant, a mark that kept only its totals, or the session is not kept in a
 * file.
 */
int goto_instant(struct watch *w, const char *when, struct err *err);

/*
 * The end of an interval that the word names, when that is an instant and no mark: what was live
 * then is kept as model_end_find() of watch_model(), which shows the same instant as before. end:
 * 0 or 1, for two at a time. 0, also for a mark and for a word that names nothing; -1 and *err: it
 * lies outside of the session, or the session is not kept in a file.
 */
int goto_end(struct watch *w, const char *word, unsigned end, struct err *err);

#endif
