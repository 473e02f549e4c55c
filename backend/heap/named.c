/* SPDX-License-Identifier: MIT
 *
 * named.c - a snapshot with its names: the call site and the owner of each stack, and what each
 * holds.
 */
#include "heap/sites.h"

#include <stdlib.h>

/* A site that is a wrapper has nothing but wrappers above it. */
static uint32_t owner_of_function(const struct heap_function *f)
{
	if (f->wrapper)
		return HEAP_OWNER_UNKNOWN;
	if (f->kind == MTW_NODE_NOWHERE)
		return HEAP_OWNER_GENERATED;
	return f->lib == NO_ID ? HEAP_OWNER_UNKNOWN : HEAP_OWNER_LIB + f->lib;
}

static uint32_t owner_of_site(const struct heap_sites *s, uint32_t site)
{
	uint32_t function = s->function[site];

	return function == NO_ID ? HEAP_OWNER_UNKNOWN
				 : owner_of_function(&s->names->function[function]);
}

/* By the innermost frame that is not the agent's. */
static uint32_t owner_of_caller(const struct skeleton *s, const struct heap_names *n, uint32_t node)
{
	for (; node; node = s->parent[node]) {
		const struct heap_place *at = &n->place[s->location[node]];

		if (at->kind == MTW_NODE_TRUNCATED)
			break;
		if (at->agent)
			continue;
		if (at->kind == MTW_NODE_NOWHERE)
			return HEAP_OWNER_GENERATED;
		return at->lib == NO_ID ? HEAP_OWNER_UNKNOWN : HEAP_OWNER_LIB + at->lib;
	}
	return HEAP_OWNER_UNKNOWN;
}

uint32_t heap_owner(const struct skeleton *s, const struct heap_names *n, uint32_t node,
		    bool direct)
{
	uint32_t frame;

	if (!node || direct)
		return owner_of_caller(s, n, node);
	heap_site_above(s, n, node, &frame);
	return owner_of_function(&n->function[n->frames[frame].function]);
}

static struct heap_owners *new_owners(const struct heap_sites *x, bool direct)
{
	const struct skeleton *s = x->skeleton;
	struct heap_owners *o = xcalloc(1, sizeof *o);

	atomic_init(&o->users, 1);
	o->direct = direct;
	o->count = HEAP_OWNER_LIB + x->names->libs;
	o->of_site = xmalloc((x->count + 1ul) * sizeof *o->of_site);
	for (uint32_t i = 0; i < x->count; i++)
		o->of_site[i] = owner_of_site(x, i);
	if (!direct)
		return o;
	o->of_stack = xmalloc((s->stacks + 1ul) * sizeof *o->of_stack);
	for (uint32_t k = 0; k < s->stacks; k++)
		o->of_stack[k] = owner_of_caller(s, x->names, s->node_of_stack[k]);
	return o;
}

uint32_t heap_owner_of_stack(const struct heap *h, uint32_t stack)
{
	return h->owners->direct ? h->owners->of_stack[stack]
				 : h->owners->of_site[h->sites->of_stack[stack]];
}

/* The amounts alone. */
static struct heap *same_amounts(const struct heap *h)
{
	struct heap *to = xcalloc(1, sizeof *to);

	atomic_init(&to->users, 1);
	to->interval = h->interval;
	to->since_of = h->since_of;
	to->since = h->since;
	to->skeleton = skeleton_hold(h->skeleton);
	to->slots = h->slots ? slots_hold(h->slots) : NULL;
	to->sums = h->sums;
	users_hold(&h->sums->users);
	if ((to->changes = h->changes))
		users_hold(&h->changes->users);
	if ((to->rates = h->rates))
		users_hold(&h->rates->users);
	return to;
}

static void take_names(struct heap *to, struct heap_names *n, bool direct, const struct heap *last)
{
	bool same = last && last->skeleton == to->skeleton && last->names == n;

	to->names = heap_names_hold(n);
	if ((to->sites = same ? last->sites : heap_sites_new(to->skeleton, n)) && same)
		users_hold(&to->sites->users);
	same = same && last->owners->direct == direct;
	if ((to->owners = same ? last->owners : new_owners(to->sites, direct)) && same)
		users_hold(&to->owners->users);
}

static void sum_by_caller(struct heap *h)
{
	uint32_t count = h->owners->count;
	struct heap_site *sums = xmalloc((count + 1ul) * sizeof *sums);

	heap_sum_by(h, h->owners->of_stack, count, sums);
	for (uint32_t i = 0; i < count; i++)
		h->of_owner[i] = sums[i].amounts;
	free(sums);
}

/* All stacks of an owner are all stacks of its sites, unless the rule is another. */
static void sum_up(struct heap *h)
{
	const struct heap_sites *s = h->sites;

	h->of_site = xmalloc((s->count + 1ul) * sizeof *h->of_site);
	heap_sum_by(h, s->of_stack, s->count, h->of_site);
	h->of_owner = xcalloc(h->owners->count, sizeof *h->of_owner);
	if (h->owners->direct)
		sum_by_caller(h);
	for (uint32_t i = 0; !h->owners->direct && i < s->count; i++)
		amounts_add(&h->of_owner[h->owners->of_site[i]], &h->of_site[i].amounts);
}

struct heap *heap_named(const struct heap *h, struct heap_names *n, bool direct,
			const struct heap *last)
{
	struct heap *to = same_amounts(h);

	take_names(to, n, direct, last);
	sum_up(to);
	return to;
}
