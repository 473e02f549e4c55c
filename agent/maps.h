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

/* A module that stands for a named heap: it has no file and no addresses. NULL: no memory. */
struct module *mt_maps_heap(const char *name);
bool mt_maps_whole(void); /* no load or unload is under way: what mt_maps_refresh() saw is all */

/*
 * maps_file.c: program headers (ElfW(Phdr) *) in the object's memory; NULL. Server thread, or while it cannot be
 * unloaded; likewise below.
 */
const void *mt_maps_headers(const struct module *m, size_t *count);
const void *mt_maps_headers_at(uintptr_t start, uintptr_t bias, size_t *count);
void mt_maps_read_build_id(struct module *m);
uintptr_t mt_maps_table_at(uintptr_t start, uintptr_t bias); /* its unwind table; 0 = none */
/* The loaded segment of `m` that holds addr, in whole pages; false when there is none. */
bool mt_maps_segment(const struct module *m, uintptr_t addr, uintptr_t *start, uintptr_t *end);
/* Where the table at m->eh_frame_hdr ends; false when there is none. */
bool mt_maps_table_end(const struct module *m, uintptr_t *end);

#pragma GCC visibility pop

#endif
