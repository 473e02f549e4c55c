/* SPDX-License-Identifier: MIT
 *
 * dump_signal.h - dump_signal=: the program's signal that asks for a dump.
 */
#ifndef MT_SERVER_DUMP_SIGNAL_H
#define MT_SERVER_DUMP_SIGNAL_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* On a thread of the target: takes the signal, if nothing else handles it. */
void mt_dump_signal_begin(void);
/* Server: did the signal come since the last call? */
bool dump_signal_came(void);

#pragma GCC visibility pop

#endif
