/* SPDX-License-Identifier: MIT
 *
 * parts.c - frees what snapshots share, when the last one lets go of it.
 */
#include "heap/sites.h"

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
	free(n->place);
	free(n);
}

void heap_sites_drop(struct heap_sites *s)
{
	if (!s || !users_drop(&s->users))
		return;
	skeleton_drop(s->skeleton);
	heap_names_drop(s->names);
	free(s->of_stack);
	free(s->function);
	free(s);
}

void heap_owners_drop(struct heap_owners *o)
{
	if (!o || !users_drop(&o->users))
		return;
	free(o->of_site);
	free(o->of_stack);
	free(o);
}
