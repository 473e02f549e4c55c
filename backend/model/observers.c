/* SPDX-License-Identifier: MIT */
#include "model/observers.h"

#include <stdlib.h>

void observers_tell(const struct observers *x, const struct model_delta *d, size_t count)
{
	for (size_t i = 0; i < x->count; i++)
		x->list[i].fn(x->list[i].arg, d, count);
}

void model_drop_changes(struct model_changes *c)
{
	if (c && !--c->keepers)
		free(c);
}
