/* SPDX-License-Identifier: MIT
 *
 * signals.h - signals of the program that ask the server for something: dump_signal= for a dump,
 * window_signal= for the begin and the end of a window.
 */
#ifndef MT_SERVER_SIGNALS_H
#define MT_SERVER_SIGNALS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* On a thread of the target: takes the signals, if nothing else handles them. */
void mt_signals_begin(void);
/* Server: did the signal come since the last call? */
bool signals_dump_came(void);
unsigned signals_windows(void); /* how often: each begins a window or ends it */

#pragma GCC visibility pop

#endif
