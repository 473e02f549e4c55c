/* SPDX-License-Identifier: MIT
 *
 * stretch.c - see stretch.h. The addresses behind the mapped part are nobody's: base/area.c gives
 * them out once, and does not reserve them. If the program has put something there, the table
 * does not grow.
 */
#include "base/stretch.h"
#include "base/area.h"
#include "base/compiler.h"
#include "base/prim_linux.h"

#define PIECE ((size_t)64 << 10) /* the largest page there is */

void *mt_stretch_begin(struct stretch *s, size_t first, size_t most, enum part part)
{
	uintptr_t place = mt_area_place(most);
	size_t bytes = (first + PIECE - 1) & ~(PIECE - 1);
	void *p = NULL;

	if (bytes > most)
		bytes = most;
	if (place)
		p = mt_prim_map_at(place, bytes);
	if (!p)
		p = mt_prim_map(bytes = most, true);
	if (!p)
		return NULL;
	s->start = (uintptr_t)p;
	s->most = most;
	s->part = part;
	atomic_store_explicit(&s->xbytes, bytes, memory_order_release);
	mt_arena_range(s->start, bytes, part);
	return p;
}

/* Who maps at the end has it alone: the next one finds its addresses taken. */
bool mt_stretch_reach(struct stretch *s, size_t bytes)
{
	size_t is = atomic_load_explicit(&s->xbytes, memory_order_acquire), more;

	if (likely(bytes <= is))
		return true;
	if (bytes > s->most)
		return false;
	more = bytes - is > is / 8 ? bytes - is : is / 8;
	more = (more + PIECE - 1) & ~(PIECE - 1);
	if (more > s->most - is)
		more = s->most - is;
	if (!mt_prim_map_at(s->start + is, more))
		return bytes <= atomic_load_explicit(&s->xbytes, memory_order_acquire);
	mt_arena_range(s->start + is, more, s->part);
	atomic_store_explicit(&s->xbytes, is + more, memory_order_release);
	return true;
}

void mt_stretch_drop(struct stretch *s, size_t from)
{
	size_t is = atomic_load_explicit(&s->xbytes, memory_order_acquire);

	if (from < is)
		mt_prim_drop((char *)s->start + from, is - from);
}
