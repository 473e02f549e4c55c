/* SPDX-License-Identifier: MIT
 *
 * privileges.h - gives up the rights that the target gives up. Server thread.
 */
#ifndef MT_SERVER_PRIVILEGES_H
#define MT_SERVER_PRIVILEGES_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

void privileges_begin(struct server *s);
/* the target's privileges become the server's, or it seals itself */
void privileges_follow(struct server *s);
/* the kernel lets the server read all of the target's /proc, also as a zombie */
bool privileges_over_target(const struct server *s);

#pragma GCC visibility pop

#endif
