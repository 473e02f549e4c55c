/* SPDX-License-Identifier: MIT
 *
 * wait_reals.c - looks up the functions behind the hooks of waiting calls.
 */
#include "hooks/wait_reals.h"
#include "base/libc.h"
#include "modules/real.h"

struct wait_reals mt_wait;

void mt_hooks_wait_init(void)
{
#define FIND(name, result, parameters, arguments)                                                  \
	mt_wait.name = (result(*) parameters)mt_real_next(#name);                                  \
	mt_wait.wrapped |= mt_libc_foreign(#name, (const void *)mt_wait.name);
	TIMED(FIND)
	PAUSE(FIND)
	UNTIMED(FIND)
	REAPING(FIND)
	mt_wait.sigtimedwait = (int (*)(const sigset_t *, siginfo_t *,
					const struct timespec *))mt_real_next("sigtimedwait");
	atomic_store_explicit(&mt_wait.xfound, true, memory_order_release);
}
