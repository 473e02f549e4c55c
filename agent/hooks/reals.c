/* SPDX-License-Identifier: MIT
 *
 * reals.c - looks up the functions behind the hooks outside the malloc family.
 */
#include "hooks/reals.h"
#include "base/libc.h"
#include "modules/real.h"

struct reals mt_reals;

void mt_reals_init(void)
{
#define FIND(linked, weak, name, result, parameters, ...)                                          \
	mt_reals.name = (result(*) parameters)mt_real_next(#name);
#define FIND_FOREIGN(linked, weak, name, result, parameters)                                       \
	mt_reals.name = (result(*) parameters)mt_real_foreign(#name);
#define FIND_WAIT(linked, weak, name, ...)                                                         \
	FIND(linked, weak, name, __VA_ARGS__)                                                      \
	mt_reals.wrapped |= mt_libc_foreign(#name, (const void *)mt_reals.name);
	PROCESS_NAMES(FIND)
	PROCESS_FOREIGN_NAMES(FIND_FOREIGN)
	TIMED_NAMES(FIND_WAIT)
	UNTIMED_NAMES(FIND_WAIT)
	WAIT_NAMES(FIND_WAIT)
	CALLED_NAMES(FIND)
	mt_reals.own_execvpe = (__typeof__(mt_reals.own_execvpe))mt_libc_own("execvpe");
	if (!mt_reals.own_execvpe)
		mt_reals.own_execvpe = mt_reals.execvpe;
	atomic_store_explicit(&mt_reals.xfound, true, memory_order_release);
}
