/* SPDX-License-Identifier: MIT
 *
 * stacks.h - what the unwinder needs of unwind/stacks.c beyond base/agent.h: the rule kept with a
 * location.
 */
#ifndef MT_STACKS_H
#define MT_STACKS_H

#include "base/agent.h"

void mt_stacks_init(void);
code_id mt_stacks_code_in(uintptr_t pc, uint8_t kind, const struct module *m);
uint32_t mt_stacks_code_count(void);
_Atomic uint64_t *mt_stacks_rule(code_id id); /* 0 = none made yet; else the same for ever */

#endif
