/* SPDX-License-Identifier: MIT
 *
 * wait.h - calls that wait: a dormant process may wake up in them.
 */
#ifndef MT_HOOKS_WAIT_H
#define MT_HOOKS_WAIT_H

#pragma GCC visibility push(hidden)

void mt_hooks_wait_init(void); /* the real functions; once, from init */

#pragma GCC visibility pop

#endif
