/* SPDX-License-Identifier: MIT
 *
 * restore.h - a model from a session's key frame. Main thread only.
 */
#ifndef MODEL_RESTORE_H
#define MODEL_RESTORE_H

struct err;
struct event;
struct model;

/* MTW_S_INSTANTS, MTW_S_POINTS, MTW_S_WINDOW (with its THREADS), MTW_S_KEY. -1 and *err: outside a
 * key frame, or bad counters */
int restore_apply(struct model *m, const struct event *e, struct err *err);

#endif
