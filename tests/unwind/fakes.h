/* SPDX-License-Identifier: MIT
 *
 * fakes.h - stubs of the agent's other parts, so that a test links the unwinder alone and its own
 * allocations are not recorded.
 */
#ifndef UNWIND_FAKES_H
#define UNWIND_FAKES_H

#include "base/conf.h"
#include "base/state.h"
#include "base/types.h"
#include "modules/generated.h"
#include "modules/real.h"
#include "record/thread.h"

struct conf mt_conf = { .xdepth = 256 };
struct real mt_real;
_Atomic uint32_t mt_pass, mt_era;
_Atomic uint64_t mt_epoch;
uint64_t mt_start_ns;

struct thread *mt_thread_self(void)
{
	static __thread struct thread state;

	return &state;
}

/* Nobody reads /proc/self/maps. */
enum runs mt_generated_runs(uintptr_t addr)
{
	(void)addr;
	return RUNS_UNKNOWN;
}

void mt_generated_look(void) {}

#endif
