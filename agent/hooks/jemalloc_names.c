/* SPDX-License-Identifier: MIT
 *
 * jemalloc_names.c - names that the agent exports and that no lookup finds until modules/rebind.c
 * shows them.
 *
 * Programs test `if (mallocx)` on a weak symbol, or dlsym("mallocx"), to learn whether jemalloc is
 * there; a preloaded library that simply defined it would make them believe so. An IFUNC that
 * resolves to NULL does not help: libraries are relocated before a preloaded one, and the loader
 * then complains about the order on stderr. But every loader treats a symbol of value 0 as
 * undefined. So these names are defined in a section that is not mapped and begins at 0: a weak
 * reference stays NULL, dlsym fails with its usual message, and a jemalloc behind the agent is
 * found, from the first relocation on.
 *
 * Android's loader is the exception: it tests for a section only. jemalloc's own functions are not
 * hooked there.
 *
 * The archive leaves this file out: a program that links the agent in would get address 0 for
 * jemalloc's functions.
 */
#ifndef __BIONIC__
#include "modules/names.h"

#define UNSEEN(linked, weak, name, ...)                                                            \
	__asm__(".pushsection .memtop_unseen,\"\",%progbits\n"                                     \
		".globl " #name "\n.type " #name ",%function\n" #name ":\n.popsection\n");

JEMALLOC_NAMES(UNSEEN)
#endif
