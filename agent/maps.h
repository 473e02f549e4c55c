/* SPDX-License-Identifier: MIT
 *
 * maps.h - what the unwinder needs of maps.c beyond agent.h.
 */
#ifndef MT_MAPS_H
#define MT_MAPS_H

#include "agent.h"

/*
 * Counts suspicions that something was loaded or unloaded. A capture that sees it changed calls
 * mt_maps_settle(), which looks, and changes mt_maps_generation() when something went.
 */
#pragma GCC visibility push(hidden)
extern _Atomic uint32_t mt_maps_suspicion;
extern _Atomic uint32_t mt_maps_changes; /* what mt_maps_generation() returns */
void mt_maps_settle(void);

/* loader.c: its list of what is loaded, and its state. NULL: there is no loader. Takes no lock. */
struct r_debug;
const struct r_debug *mt_loader_debug(void);

/* The loader itself: a pc in here as the caller of an allocation means that it is at work. */
extern uintptr_t mt_maps_loader_start, mt_maps_loader_bytes;

/* Its program headers (ElfW(Phdr) *), in its memory; NULL. Server thread, or while it cannot be unloaded. */
const void *mt_maps_headers(const struct module *m, size_t *count);
bool mt_maps_whole(void); /* no load or unload is under way: what mt_maps_refresh() saw is all */

/* The loaded segment of `m` that holds addr, in whole pages; false when there is none. */
bool mt_maps_segment(const struct module *m, uintptr_t addr, uintptr_t *start, uintptr_t *end);
/* Where the table at m->eh_frame_hdr ends; false when there is none. */
bool mt_maps_table_end(const struct module *m, uintptr_t *end);

#pragma GCC visibility pop

#endif
