/* SPDX-License-Identifier: MIT
 *
 * program.h - the program of a session. Main thread only.
 */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include "model/event.h"

bool program_same(const struct program *p, const struct event *e); /* HELLO is of this process */
void program_take(struct program *p, const struct event *e);       /* HELLO; of one that is free */
void program_free(struct program *p);
/* of a path; never empty but of an empty one */
const char *program_last_part(const char *path);

#endif
