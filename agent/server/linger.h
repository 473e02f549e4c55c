/* SPDX-License-Identifier: MIT
 *
 * linger.h - reports to the board, and waits for memtop at the end. Server thread.
 */
#ifndef MT_SERVER_LINGER_H
#define MT_SERVER_LINGER_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

void linger_tell(struct server *s); /* the board: figures so far */
/* The final figures; the target is gone, state is set */
void linger_begin(struct server *s, bool viewers);
void linger_check(struct server *s, uint64_t now);

#pragma GCC visibility pop

#endif
