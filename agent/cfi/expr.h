/* SPDX-License-Identifier: MIT
 *
 * expr.h - DWARF expressions.
 */
#ifndef MT_CFI_EXPR_H
#define MT_CFI_EXPR_H

#include "base/stack_bounds.h"
#include "base/types.h"
#include "cfi/cfi.h"

#pragma GCC visibility push(hidden)

/* A DWARF expression (its length first). false: cannot be computed. */
bool mt_cfi_eval(struct known *known, const uint8_t *expr, const uint8_t *end,
		 const struct cfi_regs *r, const uint64_t *initial, uint64_t *result);

#pragma GCC visibility pop

#endif
