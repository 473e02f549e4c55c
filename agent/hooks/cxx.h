/* SPDX-License-Identifier: MIT
 *
 * cxx.h - operator new and delete: finds the ones behind the hooks.
 */
#ifndef MT_HOOKS_CXX_H
#define MT_HOOKS_CXX_H

#include "hooks/init.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)

void mt_hooks_cxx_init(void);    /* once, from init */
bool mt_hooks_cxx_foreign(void); /* these operators may place blocks closer than malloc does */

#pragma GCC visibility pop

#endif
