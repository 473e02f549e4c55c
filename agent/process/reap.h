/* SPDX-License-Identifier: MIT
 *
 * reap.h - what the hooks of reap.c need of wait.c.
 */
#ifndef MT_PROCESS_REAP_H
#define MT_PROCESS_REAP_H

#pragma GCC visibility push(hidden)

void mt_wait_wakes(void); /* a dormant process checks whether to wake */

#pragma GCC visibility pop

#endif
