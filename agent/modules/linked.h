/* SPDX-License-Identifier: MIT
 *
 * linked.h - the agent linked into the program itself by the linker's --wrap: agent/linked/.
 */
#ifndef MT_MODULES_LINKED_H
#define MT_MODULES_LINKED_H

#include "modules/rebind.h"

/*
 * What --wrap leads to us, and where it is then (NULL: the program has none); hook: for callers
 * that only the loader can lead, NULL = none is to be. Up to a name of NULL. The tables themselves
 * are not there (NULL) where functions are found by the loader's order, the second one in a program
 * that is not C++.
 */
extern const struct rebind mt_linked[] __attribute__((weak, visibility("hidden")));
extern const struct rebind mt_linked_cxx[] __attribute__((weak, visibility("hidden")));

#endif
