/* SPDX-License-Identifier: MIT
 *
 * maps_file.h - a file's program headers, in its own memory. They are read when its module is made,
 * and later by the server, while the module cannot be unloaded.
 */
#ifndef MT_MODULES_MAPS_FILE_H
#define MT_MODULES_MAPS_FILE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct mt_headers {
	const void *at; /* ElfW(Phdr) *; NULL = not found */
	size_t count;
	uintptr_t bias;
};
/* The headers of the file with that bias that is mapped at `addr`; 0 = the program, for which
 * linkers before Android 10 give the bias only. `first`: the start of its first segment, as far as
 * the caller knows, and whether that is certain to be mapped now. */
struct mt_headers mt_maps_headers(uintptr_t bias, uintptr_t first, bool mapped, uintptr_t addr);
struct mt_headers mt_maps_program_headers(void); /* for a program without a loader */
/* with these bounds */
bool mt_maps_is_segment(const struct mt_headers *h, uintptr_t start, uintptr_t end);
void mt_maps_bounds(const struct mt_headers *h, uintptr_t *start, uintptr_t *end);
/* its unwind table; 0 = none */
uintptr_t mt_maps_table(const struct mt_headers *h, uintptr_t *end);
/* Fills a new module, whose bounds are set: segments, build-id, end of the table. Without headers
 * it is one segment that is not read. false: no memory. */
bool mt_maps_read_file(struct module *m, const struct mt_headers *h);

#pragma GCC visibility pop

#endif
