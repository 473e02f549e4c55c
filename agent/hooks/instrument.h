/* SPDX-License-Identifier: MIT
 *
 * instrument.h - the hooks of -finstrument-functions.
 */
#ifndef MT_HOOKS_INSTRUMENT_H
#define MT_HOOKS_INSTRUMENT_H

#include "hooks/init.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Somebody's hooks behind the agent, who notes functions too; NULL. */
void mt_hooks_enter_pass_on(void *enter_of_next, void *exit_of_next);
bool mt_hooks_enter_is_ours(void); /* do the program's functions call the agent's hooks? */

#pragma GCC visibility pop

#endif
