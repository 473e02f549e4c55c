/* SPDX-License-Identifier: MIT
 *
 * detach.h - removes the agent from the target. Server thread.
 */
#ifndef MT_SERVER_DETACH_H
#define MT_SERVER_DETACH_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;
struct viewer;

void detach_ask(struct server *s, struct viewer *v); /* MTW_DETACH of the agent */
bool detach_check(struct server *s);                 /* true: hooks are out, state is set */
void detach_memory(struct server *s); /* last of all: gives back memory that is not needed before
					 the next session */

#pragma GCC visibility pop

#endif
