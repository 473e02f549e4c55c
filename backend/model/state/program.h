/* SPDX-License-Identifier: MIT
 *
 * program.h - the program of a session. Main thread only.
 */
#ifndef MODEL_STATE_PROGRAM_H
#define MODEL_STATE_PROGRAM_H

#include "model/paths/event.h"

/* HELLO comes from this process */
bool program_same(const struct program *p, const struct event *e);
/* fills an empty program from HELLO */
void program_take(struct program *p, const struct event *e);
void program_free(struct program *p);
/* of a path; empty only for an empty path */
const char *program_last_part(const char *path);

#endif
