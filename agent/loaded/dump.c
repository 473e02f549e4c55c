/* SPDX-License-Identifier: MIT
 *
 * dump.c - keeps the agent's variables out of core files, as base/area.c keeps its tables. Linked
 * into a program, they lie among the program's own, and stay.
 */
#include "base/prim_linux.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#pragma GCC visibility push(hidden)
extern char __bss_start[], _end[]; /* the linker's */
#pragma GCC visibility pop

/* Whole pages alone: .data precedes them, and musl's malloc gives out what follows. */
__attribute__((constructor)) static void leave_out(void)
{
	size_t page = mt_prim_page_bytes();
	uintptr_t start = ((uintptr_t)__bss_start + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)_end & ~(page - 1);

	if (start < end)
		mt_prim_call(SYS_madvise, (long)start, (long)(end - start), MADV_DONTDUMP, 0, 0, 0);
}
