/* SPDX-License-Identifier: MIT
 *
 * loop.h - the server's main loop. Server thread, but for loop_prepare().
 */
#ifndef MT_SERVER_LOOP_H
#define MT_SERVER_LOOP_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

int loop_main(void *arg); /* never returns to the target's code */
/* before the server starts: allocates its memory; false: none left */
bool loop_prepare(struct server *s);
void loop_tick(struct server *s, bool all); /* collects everything, then updates viewers */

#pragma GCC visibility pop

#endif
