/* SPDX-License-Identifier: MIT
 *
 * area.c - addresses of the agent's own memory.
 *
 * The program must not notice where the agent's tables lie. An index past the end of one of its
 * blocks faults when it runs alone, so it has to fault beside the agent: no table may lie next to
 * a mapping of the program. And a mapping of the program gets the address that it would have got:
 * no table may lie where the kernel puts them.
 *
 * So on 64-bit machines all tables lie in an area of their own, far below the addresses that the
 * kernel gives: at seven eighths of them. Nothing reserves the area, which would count as mapped
 * and be locked by mlockall(). Each mapping asks for its address, and the kernel grants it if
 * nothing is there (MAP_FIXED_NOREPLACE; before Linux 4.17 the kernel takes that for a hint, and
 * may map elsewhere: then that is given back). A range where the program has put something itself
 * is passed over. Addresses between our mappings are never touched: they need not be ours.
 *
 *   low                    next                      top - 16 GiB              top
 *   |                      | tables, going downwards |  | the server's mappings, |
 *                                                       | which come and go      |
 *
 * Tables lie side by side, so the kernel makes few mappings of them. An address is given out once.
 * collect/memory.c chooses the places of the server's.
 *
 * Without an area (32-bit machines, small address spaces, an area that is full) the kernel chooses,
 * and a page without access lies at both ends.
 */
#include "base/area.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/syscalls.h"
#include "base/types.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define LEAST_BITS 38 /* of the address of a stack or a library: else there is no room */
#define STEP ((uintptr_t)1 << 30)
#define TRIES 16
#define ACCESS (PROT_READ | PROT_WRITE)
#define MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)
#define NOTHING (MEMORY | MAP_NORESERVE)

static _Atomic uintptr_t xtop, xnext; /* 0 = not known yet; TOP_NONE */
#define TOP_NONE ((uintptr_t)1)

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

/* Linked into a program, this code may be at a low address, and the stack may be a coroutine's. */
static uintptr_t find_top(void)
{
#if UINTPTR_MAX > UINT32_MAX
	uintptr_t here = (uintptr_t)&xtop, stack = (uintptr_t)__builtin_frame_address(0);
	uintptr_t high = here > stack ? here : stack;

	if (high >> LEAST_BITS)
		return (high / 8 * 7) & ~(STEP - 1);
#endif
	return TOP_NONE;
}

static uintptr_t top(void)
{
	uintptr_t is = atomic_load_explicit(&xtop, memory_order_acquire), none = 0, mine;

	if (likely(is))
		return is;
	mine = find_top();
	return atomic_compare_exchange_strong(&xtop, &none, mine) ? mine : none;
}

uintptr_t mt_area_top(void)
{
	uintptr_t is = top();

	return is == TOP_NONE ? 0 : is;
}

static uintptr_t low(void)
{
	return top() / 8 * 7;
}

static bool is_in(uintptr_t p)
{
	return top() != TOP_NONE && p >= low() && p < top();
}

static bool failed(long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095L;
}

static long map(uintptr_t place, size_t bytes, int prot, int flags, int fd)
{
	return mt_prim_call(CALL_MMAP, (long)place, (long)bytes, prot, flags, fd, 0);
}

static void unmap(uintptr_t p, size_t bytes)
{
	mt_prim_call(SYS_munmap, (long)p, (long)bytes, 0, 0, 0, 0);
}

/* Returns 0, -EEXIST (something is there), or what the kernel refuses all mappings for. */
static long map_there(uintptr_t place, size_t bytes, int prot, int flags, int fd)
{
	long p = map(place, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd);

	if (likely((uintptr_t)p == place))
		return 0;
	if (failed(p))
		return p;
	unmap((uintptr_t)p, bytes);
	return -EEXIST;
}

/* Addresses that nobody was given before; 0 = none are left. */
static uintptr_t next_place(size_t bytes, size_t align)
{
	uintptr_t is = atomic_load_explicit(&xnext, memory_order_relaxed), place;

	do {
		uintptr_t from = is ? is : top() - AREA_COMES_AND_GOES - STEP;
		if (from - low() < bytes || from - low() - bytes < align)
			return 0;
		place = (from - bytes) & ~(align - 1);
	} while (!atomic_compare_exchange_weak_explicit(&xnext, &is, place, memory_order_relaxed,
							memory_order_relaxed));
	return place;
}

uintptr_t mt_area_place(size_t bytes)
{
	return top() == TOP_NONE ? 0 : next_place(bytes, mt_prim_page_bytes());
}

/* 0: the kernel refuses it, or there is no place. */
static uintptr_t map_in_area(size_t bytes, size_t align, int prot, int flags, int fd)
{
	for (int i = 0; i < TRIES; i++) {
		uintptr_t place = next_place(bytes, align);
		long refused = place ? map_there(place, bytes, prot, flags, fd) : -EEXIST;
		if (likely(!refused))
			return place;
		if (!place || refused != -EEXIST)
			break;
		next_place(STEP, STEP); /* past what the program has there */
	}
	return 0;
}

/* Mapped with access first: the kernel does not hold the limit of data against a mapping that takes
 * the place of one without. */
static uintptr_t map_guarded(size_t bytes, size_t align, int prot, int flags, int fd)
{
	size_t page = mt_prim_page_bytes(), whole = bytes + page + align;
	uintptr_t p = (uintptr_t)map(0, whole, prot, MEMORY | (flags & MAP_NORESERVE), -1);

	if (failed((long)p))
		return 0;
	uintptr_t at = round_up(p + page, align), end = at + bytes;
	if ((fd >= 0 && failed(map(at, bytes, prot, flags | MAP_FIXED, fd))) ||
	    failed(map(at - page, page, PROT_NONE, NOTHING | MAP_FIXED, -1)) ||
	    failed(map(end, page, PROT_NONE, NOTHING | MAP_FIXED, -1))) {
		unmap(p, whole);
		return 0;
	}
	if (at - page > p)
		unmap(p, at - page - p);
	if (p + whole > end + page)
		unmap(end + page, p + whole - end - page);
	return at;
}

void *mt_area_map(size_t bytes, size_t align, int prot, int flags, int fd)
{
	size_t page = mt_prim_page_bytes();
	uintptr_t p = 0;

	bytes = round_up(bytes, page);
	align = align < page ? page : align;
	if (top() != TOP_NONE)
		p = map_in_area(bytes, align, prot, flags, fd);
	return (void *)(p ? p : map_guarded(bytes, align, prot, flags, fd));
}

static void advise(const void *p, size_t bytes, int advice)
{
	mt_prim_call(SYS_madvise, (long)p, (long)bytes, advice, 0, 0, 0);
}

/* Both only matter for size; a kernel without them is no reason to fail. */
static void *advised(void *p, size_t bytes)
{
	if (p) {
		advise(p, bytes, MADV_NOHUGEPAGE);
		advise(p, bytes, MADV_DONTDUMP);
	}
	return p;
}

/* reserve_only: the range is usable, but counts for nothing until touched (where the kernel lets
 * it). */
void *mt_prim_map(size_t bytes, bool reserve_only)
{
	int flags = MEMORY | (reserve_only ? MAP_NORESERVE : 0);

	return advised(mt_area_map(bytes, 1, ACCESS, flags, -1), bytes);
}

void *mt_prim_map_large(size_t bytes)
{
	void *p = advised(mt_area_map(bytes, PRIM_LARGE, ACCESS, MEMORY, -1), bytes);

	if (p)
		advise(p, bytes, MADV_HUGEPAGE);
	return p;
}

void *mt_prim_map_at(uintptr_t place, size_t bytes)
{
	return map_there(place, bytes, ACCESS, MEMORY | MAP_NORESERVE, -1)
		       ? NULL
		       : advised((void *)place, bytes);
}

/* Below the tables, where nobody maps anything in a gap of the program's. */
void *mt_prim_map_nothing(size_t bytes)
{
	uintptr_t place = top() == TOP_NONE ? 0 : low() - round_up(bytes, mt_prim_page_bytes());
	long p = map(place, bytes, PROT_NONE, NOTHING, -1);

	return failed(p) ? NULL : (void *)p;
}

void mt_prim_unmap(void *p, size_t bytes)
{
	size_t page = mt_prim_page_bytes(), guard = is_in((uintptr_t)p) ? 0 : page;

	unmap((uintptr_t)p - guard, round_up(bytes, page) + 2 * guard);
}
