/* SPDX-License-Identifier: MIT
 *
 * gap.h - code in a gap: an anonymous mapping between two LOAD segments of the including object,
 * with a function that has no unwind table and calls another.
 */
#ifndef GAP_H
#define GAP_H

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((uintptr_t)4096)
#define KEEP __attribute__((noinline, noclone))

struct gap {
	uintptr_t in; /* an address of the object */
	uintptr_t at; /* the first gap's first page; 0 = there is none */
};

static int find_gap(struct dl_phdr_info *o, size_t size, void *arg)
{
	struct gap *g = arg;
	uintptr_t end = 0, gap = 0;
	int ours = 0;

	(void)size;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &o->dlpi_phdr[i];
		uintptr_t start = o->dlpi_addr + ph->p_vaddr;
		if (ph->p_type != PT_LOAD)
			continue;
		ours |= g->in >= start && g->in < start + ph->p_memsz;
		if (end && !gap && (start & ~(PAGE - 1)) > end)
			gap = end;
		end = (start + ph->p_memsz + PAGE - 1) & ~(PAGE - 1);
	}
	if (ours)
		g->at = gap;
	return ours;
}

/* As if an engine had generated it there: sub $24,%rsp; call *%rdi; add $24,%rsp; ret. The same of
 * a page as data. */
static void (*code_in_gap(const void *in))(void (*)(void))
{
	static const unsigned char code[] = { 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
					      0x48, 0x83, 0xc4, 0x18, 0xc3 };
	struct gap g = { (uintptr_t)in, 0 };

	dl_iterate_phdr(find_gap, &g);
	if (!g.at)
		return NULL;
	if (mmap((void *)g.at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return NULL;
	memcpy((void *)g.at, code, sizeof(code));
	return (void (*)(void (*)(void)))g.at;
}

#endif
