/* SPDX-License-Identifier: MIT
 *
 * wrappers.h - which functions allocate on behalf of their caller. No state.
 */
#ifndef OWNERS_WRAPPERS_H
#define OWNERS_WRAPPERS_H

#include "base/base.h"

/* module_flags: MTW_MODULE_*; function: demangled, NULL = unknown. */
bool wrappers_match(uint32_t module_flags, const char *function);

#endif
