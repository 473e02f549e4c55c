/* SPDX-License-Identifier: MIT
 *
 * reals_cxx.c - operator new and delete of a C++ program, which --wrap redirects to the hooks.
 *
 * This is an archive member of its own: only a program that uses the operators pulls it in, and
 * only that program shall get the C++ library's, or its allocator's, operators, which hooks/cxx.c
 * falls back on. A jump leaves the caller's frame as it is.
 */
#include "modules/linked.h"
#include "modules/rebind.h"

#if defined(__x86_64__)
#define JUMP "jmp "
#else
#define JUMP "b "
#endif

#if __SIZEOF_SIZE_T__ == 8
#define SZ "m"
#else
#define SZ "j"
#endif

/* clang-format off */
#define OPERATORS(X)                                                                               \
	X("_Znw" SZ, new) X("_Zna" SZ, new_array)                                                  \
	X("_Znw" SZ "RKSt9nothrow_t", new_nt) X("_Zna" SZ "RKSt9nothrow_t", new_array_nt)          \
	X("_Znw" SZ "St11align_val_t", new_al) X("_Zna" SZ "St11align_val_t", new_array_al)        \
	X("_Znw" SZ "St11align_val_tRKSt9nothrow_t", new_al_nt)                                    \
	X("_Zna" SZ "St11align_val_tRKSt9nothrow_t", new_array_al_nt)                              \
	X("_ZdlPv", del) X("_ZdaPv", del_array) X("_ZdlPv" SZ, del_size)                           \
	X("_ZdaPv" SZ, del_array_size)                                                             \
	X("_ZdlPvRKSt9nothrow_t", del_nt) X("_ZdaPvRKSt9nothrow_t", del_array_nt)                  \
	X("_ZdlPvSt11align_val_t", del_al) X("_ZdaPvSt11align_val_t", del_array_al)                \
	X("_ZdlPv" SZ "St11align_val_t", del_size_al)                                              \
	X("_ZdaPv" SZ "St11align_val_t", del_array_size_al)                                        \
	X("_ZdlPvSt11align_val_tRKSt9nothrow_t", del_al_nt)                                        \
	X("_ZdaPvSt11align_val_tRKSt9nothrow_t", del_array_al_nt)
/* clang-format on */

/* The hook's name in the other part of the archive is the Makefile's. */
#define LEAD(symbol, name)                                                                         \
	__asm__(".pushsection .text\n.globl __wrap_" symbol "\n.type __wrap_" symbol               \
		",%function\n"                                                                     \
		"__wrap_" symbol ": " JUMP "mt_wrapped_" symbol "\n.popsection\n");                \
	extern char real_##name[] __asm__("__real_" symbol),                                       \
		wrap_##name[] __asm__("__wrap_" symbol);
OPERATORS(LEAD)

#define REAL(symbol, name) { symbol, real_##name, wrap_##name },
const struct rebind mt_linked_cxx[] = { OPERATORS(REAL){ NULL, NULL, NULL } };
