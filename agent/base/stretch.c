/* SPDX-License-Identifier: MIT
 *
 * stretch.c - see stretch.h. The addresses behind the mapped part are nobody's: base/area.c gives
 * them out once, and does not reserve them. If the program has put something there, the table
 * does not grow.
 *
 * Of two threads that map the next piece one finds it taken, and cannot know by whom before the
 * other has said so. So a piece is mapped while the last one still has room for both.
 */
#include "base/stretch.h"
#include "base/area.h"
#include "base/compiler.h"
#include "base/prim_linux.h"

#define PIECE ((size_t)64 << 10) /* the largest page there is */
#define AHEAD (PIECE / 2)
#define ATTEMPTS 64

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
static void grow(struct stretch *s, size_t is, size_t bytes)
{
	size_t more = bytes - is > is / 8 ? bytes - is : is / 8;

	more = (more + PIECE - 1) & ~(PIECE - 1);
	if (more > s->most - is)
		more = s->most - is;
	if (!mt_prim_map_at(s->start + is, more)) {
		atomic_fetch_add_explicit(&s->xfailed, 1, memory_order_relaxed);
		return;
	}
	mt_arena_range(s->start + is, more, s->part);
	atomic_store_explicit(&s->xbytes, is + more, memory_order_release);
	atomic_store_explicit(&s->xfailed, 0, memory_order_relaxed);
}

bool mt_stretch_reach(struct stretch *s, size_t bytes)
{
	size_t is = atomic_load_explicit(&s->xbytes, memory_order_acquire);

	if (likely(bytes + AHEAD <= is) || is == s->most)
		return bytes <= is;
	if (bytes <= s->most && atomic_load_explicit(&s->xfailed, memory_order_relaxed) < ATTEMPTS)
		grow(s, is, bytes + AHEAD);
	return bytes <= atomic_load_explicit(&s->xbytes, memory_order_acquire);
}

void mt_stretch_drop(struct stretch *s, size_t from)
{
	size_t is = atomic_load_explicit(&s->xbytes, memory_order_acquire);

	if (from < is)
		mt_prim_drop((char *)s->start + from, is - from);
}
