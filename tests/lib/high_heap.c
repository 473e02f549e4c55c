/* SPDX-License-Identifier: MIT
 *
 * high_heap.c - keeps the heap of a program with fixed addresses beyond 4 GiB, where valgrind has
 * it. Preloaded into python3 under every compared tool.
 *
 * Python makes integers of addresses: id(), hash(), thread identifiers. An integer below 2^30 takes
 * 28 bytes, one above takes 32. A page behind the break makes glibc take its heap from mmap.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((constructor)) static void block_break(void)
{
	uintptr_t next = ((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095;

	mmap((void *)next, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
	     0);
}
