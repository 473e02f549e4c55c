/* SPDX-License-Identifier: MIT
 *
 * reals_cxx.c - operator new and delete of a C++ program, which --wrap redirects to the hooks.
 *
 * This is an archive member of its own: only a program that uses the operators pulls it in, and
 * only that program shall get the C++ library's, or its allocator's, operators, which hooks/cxx.c
 * falls back on. A jump leaves the caller's frame as it is.
 */
#include "modules/linked.h"
#include "modules/names.h"
#include "modules/rebind.h"

#if defined(__x86_64__)
#define JUMP "jmp "
#else
#define JUMP "b "
#endif

/* The hook's name in the other part of the archive is the Makefile's. */
#define LEAD_TO(symbol, name)                                                                      \
	__asm__(".pushsection .text\n.globl __wrap_" symbol "\n.type __wrap_" symbol               \
		",%function\n"                                                                     \
		"__wrap_" symbol ": " JUMP "mt_wrapped_" symbol "\n.popsection\n");                \
	extern char real_##name[] __asm__("__real_" symbol),                                       \
		wrap_##name[] __asm__("__wrap_" symbol);
#define LEAD(linked, weak, name, ...) LEAD_TO(NAMES_TEXT(name), name)
NEW_NAMES(LEAD)
DELETE_NAMES(LEAD)

#define ROW_OF(symbol, name) { symbol, real_##name, wrap_##name },
#define ROW(linked, weak, name, ...) ROW_OF(NAMES_TEXT(name), name)
const struct rebind mt_linked_cxx[] = { NEW_NAMES(ROW) DELETE_NAMES(ROW){ NULL, NULL, NULL } };
