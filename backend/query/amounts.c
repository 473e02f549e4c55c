/* SPDX-License-Identifier: MIT
 *
 * amounts.c - the amounts of a node, a row or a call site.
 */
#include "query/amounts.h"

#include <stdlib.h>
#include <string.h>

void amounts_grow_untouched(void **ptr, size_t *have, size_t need, size_t size)
{
	if (need <= *have)
		return;
	size_t room = *have + *have / 2 > need ? *have + *have / 2 : need;
	char *to = xcalloc(room, size); /* of large ones the kernel's zeroes */
	if (*have)
		memcpy(to, *ptr, *have * size);
	free(*ptr);
	*ptr = to;
	*have = room;
}

void amounts_of_node(const struct model *m, const struct node *n, bool incl, struct amounts *v)
{
	v->sum = incl ? model_incl(m, n) : model_self(m, n);
	v->change = incl ? model_change(m, n) : model_self_change(m, n);
	v->rate = incl ? model_rate(m, n) : model_self_rate(m, n);
	v->sampled = incl ? model_sampled(m, n) : n->self_estimate;
}

uint32_t amounts_zero_flag(const struct model *m, const struct amounts *v)
{
	const struct change *c = &v->change;

	if (model_until(m))
		return c->born_blocks | c->born_bytes | c->gone_blocks | c->gone_bytes ? 0
										       : ROW_ZERO;
	return live_blocks(&v->sum) ? 0 : ROW_ZERO;
}
