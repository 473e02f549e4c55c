/* SPDX-License-Identifier: MIT
 *
 * target_exit.h - the end of the target, and its exec. Server thread.
 */
#ifndef MT_SERVER_TARGET_EXIT_H
#define MT_SERVER_TARGET_EXIT_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;
struct target;

void target_begin(struct server *s);
/* It says that it exits, and waits for the server. */
bool target_announced(const struct server *s);
bool target_check(struct server *s, bool second); /* true: the target is gone, state is set */
/* After the end: it no longer runs. */
bool target_left(struct target *target);
/* leave the dead target's memory: continues as another process */
void target_release(struct server *s);

#pragma GCC visibility pop

#endif
