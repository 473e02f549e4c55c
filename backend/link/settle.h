/* SPDX-License-Identifier: MIT
 *
 * settle.h - the live figures of a mark, exactly, after travelling to it. Main thread only.
 */
#ifndef LINK_SETTLE_H
#define LINK_SETTLE_H

#include "link/watch.h"

/*
 * watch_model() shows the last recorded instant up to the mark (watch_travel()). Makes each stack's
 * live blocks those that the agent kept for the mark, and notes (watch_note()) of which instant the
 * rest is. Where nothing is recorded it may show the present, if no stream goes into it any more: a
 * forked child's does not. -1 and *err: the mark kept only its totals.
 */
int settle_at_mark(struct watch *w, uint32_t mark, struct err *err);

#endif
