/* SPDX-License-Identifier: MIT
 *
 * spawn.h - posix_spawn(), system() and popen().
 */
#ifndef MT_HOOKS_SPAWN_H
#define MT_HOOKS_SPAWN_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

void mt_hooks_spawn_init(void); /* the real functions; once, from init */
/* `environ` as it is while a thread is in system() */
bool mt_environ_is_copy(char *const *envp);
/* In a forked child: a call of its parent's that had `environ` replaced is none of its own. */
void mt_spawn_forked(void);

#pragma GCC visibility pop

#endif
