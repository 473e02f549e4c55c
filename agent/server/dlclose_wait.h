/* SPDX-License-Identifier: MIT
 *
 * dlclose_wait.h - delays dlclose while the server reads or writes loaded objects.
 */
#ifndef MT_SERVER_DLCLOSE_WAIT_H
#define MT_SERVER_DLCLOSE_WAIT_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* server; false: an unload under way does not end within that time */
bool mt_dlclose_hold(uint64_t wait_ns);
void mt_dlclose_release(void);
void mt_dlclose_begin(void); /* the hook of dlclose; waits while the server holds them */
void mt_dlclose_end(void);
void mt_dlclose_forked(void); /* in a child: no unload is under way */

#pragma GCC visibility pop

#endif
