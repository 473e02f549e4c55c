/* SPDX-License-Identifier: MIT
 *
 * maps.h - what the unwinder needs of modules/maps.c beyond base/agent.h.
 */
#ifndef MT_MAPS_H
#define MT_MAPS_H

#include "base/agent.h"

/*
 * Counts suspicions that something was loaded or unloaded. A capture that sees it changed calls
 * mt_maps_settle(), which looks, and changes mt_maps_generation() when something went.
 */
#pragma GCC visibility push(hidden)
extern _Atomic uint32_t mt_maps_suspicion;
extern _Atomic uint32_t mt_maps_changes; /* what mt_maps_generation() returns */
void mt_maps_settle(void);

/* modules/loader.c: its list of what is loaded, and its state. NULL: there is no loader. Takes no
 * lock. */
struct r_debug;
const struct r_debug *mt_loader_debug(void);

/* The loader itself: a pc in here as the caller of an allocation means that it is at work. */
extern uintptr_t mt_maps_loader_start, mt_maps_loader_bytes;

/* A module that stands for a named heap: it has no file and no addresses. NULL: no memory. */
struct module *mt_maps_heap(const char *name);
bool mt_maps_whole(void); /* no load or unload is under way: what mt_maps_refresh() saw is all */

/* What of a module is mapped; its gaps are not. */
bool mt_maps_holds(const struct module *m, uintptr_t addr);
/* whole pages of `m` */
bool mt_maps_overlaps(const struct module *m, uintptr_t start, uintptr_t end);
/* with these bounds */
bool mt_maps_has_segment(const struct module *m, uintptr_t start, uintptr_t end);
/* Does a file with these headers lie where `m` does? Without headers: between start and end. */
struct mt_headers;
bool mt_maps_meets(const struct module *m, const struct mt_headers *h, uintptr_t start,
		   uintptr_t end);
bool mt_maps_runs(const struct module *m, uintptr_t addr); /* in an executable segment */
/* The readable segment of `m` that holds addr; false when there is none. */
bool mt_maps_segment(const struct module *m, uintptr_t addr, uintptr_t *start, uintptr_t *end);

/*
 * modules/maps_file.c: a file's program headers, in its own memory. They are read when its module
 * is made, and then by the server, while it cannot be unloaded.
 */
struct mt_headers {
	const void *at; /* ElfW(Phdr) *; NULL = not found */
	size_t count;
	uintptr_t bias;
};
/*
 * Of the file with that bias that is mapped at `addr`; 0 = the program, of which linkers before
 * Android 10 tell no address but the bias. `first`: where its first segment begins, as far as the
 * caller knows, and whether that is certain to be mapped now.
 */
struct mt_headers mt_maps_headers(uintptr_t bias, uintptr_t first, bool mapped, uintptr_t addr);
struct mt_headers mt_maps_program_headers(void); /* of a program without a loader */
/* with these bounds */
bool mt_maps_is_segment(const struct mt_headers *h, uintptr_t start, uintptr_t end);
void mt_maps_bounds(const struct mt_headers *h, uintptr_t *start, uintptr_t *end);
/* its unwind table; 0 = none */
uintptr_t mt_maps_table(const struct mt_headers *h, uintptr_t *end);
/*
 * Into a new module, whose bounds are set: segments, build-id, end of the table. Without headers it
 * is one segment, of which nothing is read. false: no memory.
 */
bool mt_maps_read_file(struct module *m, const struct mt_headers *h);

#pragma GCC visibility pop

#endif
