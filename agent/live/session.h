/* SPDX-License-Identifier: MIT
 *
 * session.h - the live map at the beginning of a session.
 */
#ifndef MT_LIVE_SESSION_H
#define MT_LIVE_SESSION_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

bool mt_live_init(unsigned granule_bytes); /* once; false: no memory */
void mt_live_forked(void);                 /* in the child */
void mt_live_restart(void); /* empty, and its pages given back; no thread enters a block */

#pragma GCC visibility pop

#endif
