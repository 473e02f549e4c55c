/* SPDX-License-Identifier: MIT
 *
 * memory.c - the server's own memory, and its clock.
 */
#include "collect/memory.h"
#include "base/area.h"
#include "base/prim_linux.h"
#include "base/state.h"

#include <sys/syscall.h>

#define PLACE_BYTES 65536u /* the largest page there is */
#define TRIES 64

/*
 * All mappings of the server, in a list, so that unmapping a dead target's memory spares them
 * (server/target_exit.c). The heads lie in memory that the program may write to, by an error of its
 * own: a walk ends at the first head that was changed, and after mapping_count heads at the latest.
 */
struct mapping {
	struct mapping *next, *prev;
	size_t bytes;
	uint64_t check;
	uint64_t fill[4]; /* the rest of a cache line */
};
static struct mapping *mappings;
static size_t mapping_count;

static uint64_t check_of(const struct mapping *m)
{
	return ((uint64_t)(uintptr_t)m ^ m->bytes) * 0x9e3779b97f4a7c15u ^ (uintptr_t)&mappings;
}

static bool is_sound(const struct mapping *m)
{
	return m->check == check_of(m);
}

/* The next place below the last one, in a circle. A program of one thread may unmap a range and
 * later map there (MAP_FIXED, MREMAP_FIXED), because no other thread maps anything meanwhile. The
 * server does map, and must not land in the gap. Old mappings may be in the way: then the place
 * after them. */
static struct mapping *map_next(size_t bytes)
{
	static uintptr_t place;
	uintptr_t top = mt_area_top();
	void *p = NULL;

	for (int i = 0; top && !p && i < TRIES; i++) {
		if (place < top - AREA_COMES_AND_GOES + PLACE_BYTES + bytes)
			place = top;
		place = (place - bytes) & ~(uintptr_t)(PLACE_BYTES - 1);
		p = mt_prim_map_at(place, bytes);
	}
	return p ? p : mt_prim_map(bytes, true);
}

void *memory_map(size_t bytes)
{
	bytes = (bytes + sizeof(struct mapping) + 4095) & ~(size_t)4095;
	struct mapping *m = map_next(bytes);

	if (!m)
		return NULL;
	mt_prim_call(SYS_madvise, (long)m, (long)bytes, 10 /* MADV_DONTFORK: no use in a child */,
		     0, 0, 0);
	m->bytes = bytes;
	m->check = check_of(m);
	m->next = mappings;
	if (mappings && is_sound(mappings))
		mappings->prev = m;
	mappings = m;
	mapping_count++;
	return m + 1;
}

bool memory_each(void (*visit)(void *arg, enum part part, uintptr_t start, uintptr_t end),
		 void *arg)
{
	const struct mapping *m = mappings;

	for (size_t left = mapping_count; left && m && is_sound(m); left--, m = m->next)
		visit(arg, PART_SERVER, (uintptr_t)m, (uintptr_t)m + m->bytes);
	return !m;
}

void memory_unmap(void *p, size_t bytes)
{
	struct mapping *m = p ? (struct mapping *)p - 1 : NULL;

	(void)bytes;
	if (!m || !is_sound(m))
		return; /* nobody knows where it ends: it stays */
	if (!m->prev)
		mappings = m->next;
	else if (is_sound(m->prev))
		m->prev->next = m->next;
	if (m->next && is_sound(m->next))
		m->next->prev = m->prev;
	mapping_count--;
	mt_prim_unmap(m, m->bytes);
}

bool memory_owns(uintptr_t start, uintptr_t end)
{
	const struct mapping *m = mappings;

	for (size_t left = mapping_count; left && m && is_sound(m); left--, m = m->next)
		if ((uintptr_t)m < end && start < (uintptr_t)m + m->bytes)
			return true;
	return false;
}

void memory_release(void)
{
	for (size_t left = mapping_count; left && mappings && is_sound(mappings); left--)
		memory_unmap(mappings + 1, 0);
	memory_forget();
}

void memory_forget(void)
{
	mappings = NULL;
	mapping_count = 0;
}

uint64_t server_now(void)
{
	return mt_prim_now_ns() - mt_start_ns;
}
