/* SPDX-License-Identifier: MIT
 *
 * jemalloc_names.c - names that the agent exports and that no lookup finds, until modules/rebind.c
 * shows them.
 *
 * Programs ask `if (mallocx)` of a weak symbol, or dlsym("mallocx"), to learn whether jemalloc is
 * there; a preloaded library that simply defined it would make them believe so. A function that
 * IFUNC resolves to nothing is no way out: libraries are relocated before a preloaded one, and the
 * loader then complains of the order on stderr. But every loader passes over a symbol of value 0 as
 * over one that is not defined. So these are defined in a section that is not mapped and begins at
 * 0: a weak reference stays NULL, dlsym fails with its usual words, and a jemalloc behind
 * the agent is what is found, from the first relocation on.
 *
 * But Android's loader, which asks for a section only; jemalloc's own functions are not hooked
 * there.
 *
 * Not in the archive: a program that links the agent in would be given address 0 for jemalloc's.
 */
#ifndef __BIONIC__
#define UNSEEN(name)                                                                               \
	__asm__(".pushsection .memtop_unseen,\"\",%progbits\n"                                     \
		".globl " #name "\n.type " #name ",%function\n" #name ":\n.popsection\n");

UNSEEN(mallocx)
UNSEEN(rallocx)
UNSEEN(xallocx)
UNSEEN(dallocx)
UNSEEN(sdallocx)
#endif
