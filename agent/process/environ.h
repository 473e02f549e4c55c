/* SPDX-License-Identifier: MIT
 *
 * environ.h - `environ` with the agent's entries, while a function runs that passes it on by
 * itself.
 */
#ifndef MT_PROCESS_ENVIRON_H
#define MT_PROCESS_ENVIRON_H

#include "hooks/follow.h"

#pragma GCC visibility push(hidden)

/* False: it stays as it is; also in a child of vfork, whose parent would find it changed. */
bool mt_environ_enter(const struct follow *f);
void mt_environ_leave(void *entered); /* bool: what mt_environ_enter() has returned */

#pragma GCC visibility pop

#endif
