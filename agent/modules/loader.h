/* SPDX-License-Identifier: MIT
 *
 * loader.h - the loader's list of what is loaded.
 */
#ifndef MT_MODULES_LOADER_H
#define MT_MODULES_LOADER_H

#include "base/types.h"

struct link_map;
struct r_debug;
#pragma GCC visibility push(hidden)
/* The loader's list of loaded objects, and its state. NULL: there is no loader. Takes no lock. */
const struct r_debug *mt_loader_debug(void);
bool mt_loader_consistent(void); /* no load or unload is under way */
/* Reads from the list; false: it cannot be read any more. */
bool mt_loader_copy(const struct link_map *from, struct link_map *to);
/* glibc from 2.35 on lists the namespaces that dlmopen made, too: its r_debug_extended, of version
 * 2. NULL: there is no other. */
const struct r_debug *mt_loader_next(const struct r_debug *d);
#pragma GCC visibility pop

#endif
