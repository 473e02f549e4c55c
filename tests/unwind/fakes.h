/* SPDX-License-Identifier: MIT
 *
 * fakes.h - what the unwinder uses of the rest of the agent, so that a test links the unwinder alone
 * and its allocations are nobody's business.
 */
#ifndef UNWIND_FAKES_H
#define UNWIND_FAKES_H

#include "agent.h"

struct conf mt_conf = { .xdepth = 256 };
struct real mt_real;
_Atomic uint32_t mt_pass, mt_era;
_Atomic uint64_t mt_epoch;
uint64_t mt_start_ns;

#endif
