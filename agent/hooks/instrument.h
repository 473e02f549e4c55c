/* SPDX-License-Identifier: MIT
 *
 * instrument.h - the hooks of -finstrument-functions.
 */
#ifndef MT_HOOKS_INSTRUMENT_H
#define MT_HOOKS_INSTRUMENT_H

#include "hooks/init.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)

bool mt_hooks_enter_is_ours(void); /* do the program's functions call the agent's hooks? */

#pragma GCC visibility pop

#endif
