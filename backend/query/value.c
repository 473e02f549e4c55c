/* SPDX-License-Identifier: MIT
 *
 * value.c - the value of a node, a row or a call site.
 */
#include "query/value.h"

#include <stdlib.h>
#include <string.h>

void value_grow_untouched(void **ptr, size_t *have, size_t need, size_t size)
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

void value_add(struct value *v, const struct value *d)
{
	tally_add(&v->tally, &d->tally);
	change_add(&v->change, &d->change);
	rate_add(&v->rate, &d->rate);
	v->sampled += d->sampled;
}

/* Differences are modulo 2^64, as the model's. */
void value_sub(struct value *v, const struct value *d)
{
	v->tally.alloc_blocks -= d->tally.alloc_blocks;
	v->tally.alloc_bytes -= d->tally.alloc_bytes;
	v->tally.free_blocks -= d->tally.free_blocks;
	v->tally.free_bytes -= d->tally.free_bytes;
	v->change.born_blocks -= d->change.born_blocks;
	v->change.born_bytes -= d->change.born_bytes;
	v->change.gone_blocks -= d->change.gone_blocks;
	v->change.gone_bytes -= d->change.gone_bytes;
	v->rate = rate_sub(&v->rate, &d->rate);
	v->sampled -= d->sampled;
}

void value_of_node(const struct model *m, const struct node *n, bool incl, struct value *v)
{
	v->tally = incl ? model_incl(m, n) : model_self(m, n);
	v->change = incl ? model_change(m, n) : model_self_change(m, n);
	v->rate = incl ? model_rate(m, n) : model_self_rate(m, n);
	v->sampled = incl ? model_sampled(m, n) : n->self_estimate;
}

uint32_t value_zero_flag(const struct model *m, const struct value *v)
{
	const struct change *c = &v->change;

	if (model_until(m))
		return c->born_blocks | c->born_bytes | c->gone_blocks | c->gone_bytes ? 0
										       : ROW_ZERO;
	return live_blocks(&v->tally) ? 0 : ROW_ZERO;
}
