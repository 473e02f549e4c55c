/* SPDX-License-Identifier: MIT
 *
 * exec.h - the exec functions.
 */
#ifndef MT_HOOKS_EXEC_H
#define MT_HOOKS_EXEC_H

#pragma GCC visibility push(hidden)

void mt_hooks_exec_init(void); /* the real functions; once, from init */

#pragma GCC visibility pop

#endif
