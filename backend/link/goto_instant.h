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

#endif
