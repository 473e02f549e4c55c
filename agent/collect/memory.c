/* SPDX-License-Identifier: MIT
 *
 * memory.c - the server's own memory, and its clock.
 */
#include "collect/memory.h"
#include "base/prim_linux.h"
#include "base/state.h"

#include <sys/syscall.h>

/* the range of addresses that mappings are taken from, one below the other */
#define ROOM_BYTES ((uintptr_t)16 << 30)
#define PLACE_BYTES 65536u /* the largest page there is */

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

/* An address far from the kernel's place for the program's mappings. A program of one thread may
 * unmap a range and later map there (MAP_FIXED, MREMAP_FIXED), because no other thread maps
 * anything meanwhile. The server does map, and must not land in the gap. The address is a hint
 * only, which the kernel grants where that range is free. 32-bit programs have no such room. */
static uintptr_t next_place(size_t bytes)
{
#if UINTPTR_MAX > UINT32_MAX
	static uintptr_t top, place;

	if (!top)
		top = ((uintptr_t)&mappings / 8 * 7) & ~(uintptr_t)(ROOM_BYTES - 1);
	if (place < top - ROOM_BYTES + PLACE_BYTES + bytes)
		place = top;
	return place = (place - bytes) & ~(uintptr_t)(PLACE_BYTES - 1);
#else
	return (void)bytes, 0;
#endif
}

void *memory_map(size_t bytes)
{
	bytes = (bytes + sizeof(struct mapping) + 4095) & ~(size_t)4095;
	struct mapping *m = mt_prim_map_at(next_place(bytes), bytes);

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
