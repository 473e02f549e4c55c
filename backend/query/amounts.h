/* SPDX-License-Identifier: MIT
 *
 * amounts.h - what the amounts of a row say.
 */
#ifndef QUERY_AMOUNTS_H
#define QUERY_AMOUNTS_H

#include "query/query.h"

/* ROW_ZERO when they are empty: nothing alive, or no change between two marks. */
uint32_t amounts_zero_flag(uint32_t until, const struct amounts *v);

#endif
