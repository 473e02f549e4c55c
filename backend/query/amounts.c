/* SPDX-License-Identifier: MIT
 *
 * amounts.c - what the amounts of a row say.
 */
#include "query/amounts.h"

uint32_t amounts_zero_flag(uint32_t until, const struct amounts *v)
{
	const struct change *c = &v->change;

	if (until)
		return c->born_blocks | c->born_bytes | c->gone_blocks | c->gone_bytes ? 0
										       : ROW_ZERO;
	return live_blocks(&v->sum) ? 0 : ROW_ZERO;
}
