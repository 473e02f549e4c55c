/* SPDX-License-Identifier: MIT
 *
 * linked.h - the agent linked into the program itself by the linker's --wrap: agent/linked/.
 */
#ifndef MT_MODULES_LINKED_H
#define MT_MODULES_LINKED_H

#include "modules/rebind.h"

/* The functions that --wrap redirects to the hooks, with their real addresses (NULL: the program
 * has none). hook: for callers that only the loader can redirect, NULL = do not redirect. A name of
 * NULL ends a table. The tables themselves are absent (NULL) where the loader's order finds the
 * functions; the second one also in a program that is not C++. */
extern const struct rebind mt_linked[] __attribute__((weak, visibility("hidden")));
extern const struct rebind mt_linked_cxx[] __attribute__((weak, visibility("hidden")));

#endif
