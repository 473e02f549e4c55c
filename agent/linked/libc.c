/* SPDX-License-Identifier: MIT
 *
 * libc.c - what base/libc.h asks for, in an agent that is linked in: as the linker has bound it.
 *
 * A weak reference adds nothing to a static program. The two variables are in every C library.
 */
#include "base/libc.h"

#define ASK(name) extern char linked_##name[] __asm__(#name) __attribute__((weak));
LIBC_ASKED(ASK)
LIBC_VARIABLES(ASK)

#define ANSWER(name) void *mt_libc_##name = linked_##name;
LIBC_ASKED(ANSWER)
LIBC_VARIABLES(ANSWER)

_Atomic bool mt_libc_found = true;

void mt_libc_find(void) {}

void *mt_libc_own(const char *name)
{
	(void)name;
	return NULL;
}

bool mt_libc_foreign(const char *name, const void *f)
{
	(void)name, (void)f;
	return false;
}
