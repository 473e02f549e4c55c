/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

#include <stdlib.h>

int filters_apply(struct filters *x, const struct event *e, struct err *err)
{
	uint32_t i = e->u.filter.index;

	if (i > x->count)
		return err_set(err, 3, "stream: filter %u came before number %zu; connect again", i,
			       x->count);
	if (i < x->count)
		return 0; /* they do not change */
	GROW(x->list, x->room, (size_t)i + 1);
	x->list[x->count++] = (struct recorded){
		.since_ns = e->u.filter.since_ns,
		.sample = e->u.filter.sample,
		.min_size = e->u.filter.min_size,
		.max_size = e->u.filter.max_size,
		.merge = e->u.filter.merge,
		.libs = text_own(e->u.filter.libs),
		.exclude = text_own(e->u.filter.exclude),
		.who = text_own(e->u.filter.who),
	};
	return 0;
}

void filters_clear(struct filters *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->list[i].libs);
		free(x->list[i].exclude);
		free(x->list[i].who);
	}
	free(x->list);
	x->list = NULL;
	x->count = x->room = 0;
}
