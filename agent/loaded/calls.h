/* SPDX-License-Identifier: MIT
 *
 * calls.h - fills in where the agent's calls of the C library lead.
 */
#ifndef MT_LOADED_CALLS_H
#define MT_LOADED_CALLS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

extern void *mt_call_clock_gettime;                  /* as the call goes */
void mt_calls_find(void *(*find)(const char *name)); /* NULL: the C library has no such function */

#pragma GCC visibility pop

#endif
