/* SPDX-License-Identifier: MIT
 *
 * segments.h - the mapped parts of a module, without its gaps. Any thread.
 */
#ifndef MT_MODULES_SEGMENTS_H
#define MT_MODULES_SEGMENTS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

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

#pragma GCC visibility pop

#endif
