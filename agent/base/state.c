/* SPDX-License-Identifier: MIT */
#include "base/state.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/prim_linux.h"

#include <errno.h>
#include <string.h>

#define SAVED_MAX 32

MT_FORK_WORD _Atomic int mt_state;
uint64_t mt_start_ns;
int mt_pid;
MT_FORK_WORD int mt_own_pid;
MT_FORK_WORD uint64_t mt_forked_ns;
MT_FORK_WORD struct tally mt_before_fork;
_Atomic bool mt_forks;
_Atomic bool mt_attached;
_Atomic bool mt_setting_up;
MT_HOT _Atomic uint32_t mt_era = 2; /* a hit starts at 0 = never */
MT_FORK_WORD _Atomic uint64_t mt_epoch;
MT_FORK_WORD uint64_t mt_first_epoch;
MT_HOT _Alignas(32) _Atomic uint32_t mt_pass = 2; /* stamps start at 0 = never */

static _Atomic int xsealed; /* enum seal */
static const char *preload = "";
static const char *saved[SAVED_MAX + 1];
static unsigned saved_count;

MT_FORK_CODE uint64_t mt_state_coarse_ns(void)
{
	uint64_t now = mt_prim_coarse_ns();

	return now > mt_start_ns ? now - mt_start_ns : 1;
}

char **mt_state_environment(void)
{
	if (ENVIRON || !LIBC(__libc_stack_end) || !LIBC(__libc_single_threaded) ||
	    !*LIBC(__libc_single_threaded))
		return ENVIRON;
	const long *count = *LIBC(__libc_stack_end);
	return (char **)(count + 1) + *count + 1;
}

const char *mt_state_variable(const char *name)
{
	size_t len = strlen(name);

	for (char **e = mt_state_environment(); e && *e; e++)
		if (!strncmp(*e, name, len))
			return *e + len;
	return NULL;
}

const char *mt_state_program(void)
{
#ifdef __BIONIC__
	return getprogname();
#else
	const char *const *name = (const char *const *)LIBC(program_invocation_short_name);

	return name && *name ? *name : "";
#endif
}

const char *mt_state_preload(void)
{
	return preload;
}

void mt_state_keep_preload(const char *entry)
{
	preload = entry;
}

const char *mt_state_saved(unsigned i)
{
	return i < SAVED_MAX ? saved[i] : NULL;
}

bool mt_state_keep_saved(const char *variable)
{
	if (saved_count == SAVED_MAX)
		return false;
	saved[saved_count++] = variable;
	return true;
}

MT_FORK_CODE enum seal mt_state_sealed(void)
{
	return (enum seal)atomic_load_explicit(&xsealed, memory_order_relaxed);
}

void mt_state_seal(enum seal to)
{
	if (to > mt_state_sealed())
		atomic_store_explicit(&xsealed, to, memory_order_relaxed);
}

bool mt_state_gave_up(void)
{
	return mt_state_sealed() != SEAL_NONE;
}

bool mt_state_filtered(void)
{
	return mt_state_sealed() == SEAL_FILTER;
}

bool mt_state_is_pid(int pid)
{
	return pid == mt_own_pid;
}

bool mt_state_is_fork(void)
{
	return mt_forked_ns;
}

bool mt_state_shares_pages(void)
{
	return mt_forked_ns || atomic_load_explicit(&mt_forks, memory_order_relaxed);
}
