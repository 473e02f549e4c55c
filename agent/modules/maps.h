/* SPDX-License-Identifier: MIT
 *
 * maps.h - loaded objects. Never takes the loader's lock on the allocation path.
 */
#ifndef MT_MODULES_MAPS_H
#define MT_MODULES_MAPS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void mt_maps_init(void);
void mt_maps_refresh(void);                 /* compare with the loader's list; server thread */
struct module *mt_maps_find(uintptr_t pc);  /* lock-free; NULL = nowhere. Learns new ones. */
struct module *mt_maps_module(uint32_t id); /* NULL past mt_maps_count() */
uint32_t mt_maps_count(void);               /* ids are 0..count-1 */
uint32_t mt_maps_generation(void);          /* changes when anything was (un)loaded */
void mt_maps_restart(void);    /* another session: every loaded module was there before */
void mt_maps_invalidate(void); /* a dlopen or dlclose begins or ends */

/* Counts suspicions of a load or unload. A capture that sees it changed calls mt_maps_settle(),
 * which checks the modules, and changes mt_maps_generation() after an unload. */
extern _Atomic uint32_t mt_maps_suspicion;
extern _Atomic uint32_t mt_maps_changes; /* the value of mt_maps_generation() */
void mt_maps_settle(void);

/* The loader itself: an allocation whose caller's pc is in here means that it is at work. */
extern uintptr_t mt_maps_loader_start, mt_maps_loader_bytes;

/* A module that represents a named heap, without a file and addresses. NULL: no memory. */
struct module *mt_maps_heap(const char *name);

#pragma GCC visibility pop

#endif
