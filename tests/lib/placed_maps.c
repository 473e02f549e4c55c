/* SPDX-License-Identifier: MIT
 *
 * placed_maps.c - places the program's own mappings at the same addresses in every run.
 *
 * gcc's garbage collector has a table for each 16 MiB in which it owns a page, so its block count
 * depends on where the kernel puts its pages. Preloaded, this library gives each such request the
 * next place in an unused range, under valgrind too. It does not see mappings of libc and the
 * loader.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST 0x800000000ull

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	static uintptr_t next = FIRST;

	if (!at && flags & MAP_ANONYMOUS)
		at = (void *)__atomic_fetch_add(&next, (bytes + 4095) & ~(size_t)4095,
						__ATOMIC_RELAXED);
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
