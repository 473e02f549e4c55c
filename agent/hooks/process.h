/* SPDX-License-Identifier: MIT
 *
 * process.h - what ends a process, and the loader's functions.
 */
#ifndef MT_HOOKS_PROCESS_H
#define MT_HOOKS_PROCESS_H

#pragma GCC visibility push(hidden)

/* The real process and loader functions; once, from init. */
void mt_hooks_proc_init(void);
void mt_hooks_proc_found(void); /* ... if that is still to come */

#pragma GCC visibility pop

#endif
