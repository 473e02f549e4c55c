/* SPDX-License-Identifier: MIT
 *
 * segments.c - the mapped parts of a module: its segments, without the gaps between them.
 */
#include "modules/segments.h"
#include "base/prim_linux.h"
#include "modules/maps_file.h"

#include <link.h>

bool mt_maps_overlaps(const struct module *m, uintptr_t start, uintptr_t end)
{
	uintptr_t page = mt_prim_page_bytes();

	for (uint32_t i = 0; i < m->segments; i++) {
		const struct segment *s = &m->segment[i];
		if ((s->start & ~(page - 1)) < end && start < ((s->end + page - 1) & ~(page - 1)))
			return true;
	}
	return false;
}

bool mt_maps_holds(const struct module *m, uintptr_t addr)
{
	return addr >= m->start && mt_maps_overlaps(m, addr, addr + 1);
}

bool mt_maps_runs(const struct module *m, uintptr_t addr)
{
	for (uint32_t i = 0; i < m->segments; i++)
		if (m->segment[i].executable && addr >= m->segment[i].start &&
		    addr < m->segment[i].end)
			return true;
	return false;
}

bool mt_maps_segment(const struct module *m, uintptr_t addr, uintptr_t *start, uintptr_t *end)
{
	for (uint32_t i = 0; i < m->segments; i++) {
		const struct segment *s = &m->segment[i];
		if (!s->readable || addr < s->start || addr >= s->end)
			continue;
		*start = s->start;
		*end = s->end;
		return true;
	}
	return false;
}

bool mt_maps_has_segment(const struct module *m, uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 0; i < m->segments; i++)
		if (m->segment[i].start == start && m->segment[i].end == end)
			return true;
	return false;
}

bool mt_maps_meets(const struct module *m, const struct mt_headers *h, uintptr_t start,
		   uintptr_t end)
{
	const ElfW(Phdr) *ph = h->at;

	for (size_t i = 0; i < h->count; i++) {
		uintptr_t from = h->bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_LOAD && mt_maps_overlaps(m, from, from + ph[i].p_memsz))
			return true;
	}
	return !ph && mt_maps_overlaps(m, start, end);
}
