/* SPDX-License-Identifier: MIT */
#include "heap/names.h"

#include <stdlib.h>

struct heap_names *heap_names_hold(struct heap_names *n)
{
	users_hold(&n->users);
	return n;
}

void heap_names_drop(struct heap_names *n)
{
	if (!n || !users_drop(&n->users))
		return;
	free(n->first);
	free(n->frames);
	free(n->function);
	free(n->site_frame);
	free(n);
}
