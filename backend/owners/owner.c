/* SPDX-License-Identifier: MIT
 *
 * owner.c - whose memory is it? owners/wrappers.c has the table of wrappers, owners/list.c lists
 * and history.
 *
 * A snapshot of the heap gets its names, its call sites and the owner of each stack here. The parts
 * live on their own: sites and owners are made again when nodes or names came, the sums of owners
 * with each snapshot, so that
 *     sum over owners = totals, at each tick, however many names are known.
 */
#include "owners/internal.h"
#include "model/columns.h"

#include <stdlib.h>
#include <string.h>

static uint32_t new_held(struct owners *o, uint32_t module, const char *name)
{
	GROW(o->held, o->held_room, o->held_count + 1);
	struct held *h = xcalloc(1, sizeof *h);
	h->pub.module = module;
	h->pub.name = name;
	h->pub.letter = '?';
	h->pub.series = h->series;
	o->held[o->held_count] = h;
	return (uint32_t)o->held_count++;
}

struct owners *owners_new(const struct model *m, struct symbols *s)
{
	struct owners *o = xcalloc(1, sizeof *o);

	o->m = m;
	o->names = names_new(m, s);
	new_held(o, OWNER_UNKNOWN, "[unknown]");
	return o;
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	heap_drop(o->heap);
	heap_drop(o->of);
	heap_sites_drop(o->sites);
	heap_owners_drop(o->of_stack);
	free(o->site_sums);
	for (size_t i = 0; i < o->held_count; i++) {
		free(o->held[i]->other);
		free(o->held[i]);
	}
	names_free(o->names);
	free(o->held);
	free(o->of_lib);
	free(o->list);
	free(o->copies);
	free(o);
}

static uint32_t held_of_lib(struct owners *o, uint32_t lib)
{
	GROW(o->of_lib, o->lib_room, (size_t)lib + 1);
	const struct name_lib *l = names_lib(o->names, lib);
	if (!o->of_lib[lib])
		o->of_lib[lib] = new_held(o, l->newest, l->name);
	o->held[o->of_lib[lib]]->pub.module = l->newest;
	return o->of_lib[lib];
}

uint32_t owner_held(struct owners *o, uint32_t module)
{
	if (module == OWNER_GENERATED) {
		if (!o->generated)
			o->generated = new_held(o, module, GENERATED_NAME);
		return o->generated;
	}
	uint32_t lib = names_lib_of(o->names, module);

	return lib == NO_ID ? 0 : held_of_lib(o, lib);
}

/* --- of each stack */

/* A site that is a wrapper has nothing but wrappers above it. */
static uint32_t owner_of_function(struct owners *o, const struct heap_function *f)
{
	if (f->wrapper)
		return 0;
	if (f->kind == MTW_NODE_NOWHERE)
		return owner_held(o, OWNER_GENERATED);
	return f->lib == NO_ID ? 0 : held_of_lib(o, f->lib);
}

static uint32_t owner_of_site(struct owners *o, const struct heap_names *n, uint32_t function)
{
	return function == NO_ID ? 0 : owner_of_function(o, &n->function[function]);
}

static uint32_t *owners_by_site(struct owners *o, const struct skeleton *s,
				const struct heap_names *n)
{
	uint32_t *of = xmalloc((s->stacks + 1ul) * sizeof *of);
	uint32_t *of_site = xmalloc((o->sites->count + 1ul) * sizeof *of_site);

	for (uint32_t i = 0; i < o->sites->count; i++)
		of_site[i] = owner_of_site(o, n, o->sites->function[i]);
	for (uint32_t k = 0; k < s->stacks; k++)
		of[k] = of_site[o->sites->of_stack[k]];
	free(of_site);
	return of;
}

/* By the innermost frame that is not the agent's. */
static uint32_t direct_owner(struct owners *o, const struct skeleton *s, const struct heap_names *n,
			     uint32_t node)
{
	for (; node; node = s->parent[node]) {
		const struct heap_place *at = &n->place[s->location[node]];

		if (at->kind == MTW_NODE_TRUNCATED)
			return 0;
		if (!at->agent)
			return owner_held(o, at->kind == MTW_NODE_NOWHERE ? OWNER_GENERATED
									  : at->module);
	}
	return 0;
}

static uint32_t *owners_by_caller(struct owners *o, const struct skeleton *s,
				  const struct heap_names *n)
{
	uint32_t *of = xmalloc((s->stacks + 1ul) * sizeof *of);

	for (uint32_t k = 0; k < s->stacks; k++)
		of[k] = direct_owner(o, s, n, s->node_of_stack[k]);
	return of;
}

static void assign(struct owners *o, const struct skeleton *s, const struct heap_names *n)
{
	heap_owners_drop(o->of_stack);
	o->of_stack = xcalloc(1, sizeof *o->of_stack);
	atomic_init(&o->of_stack->users, 1);
	o->of_stack->of_stack = (o->direct ? owners_by_caller : owners_by_site)(o, s, n);
}

bool owners_ask(struct owners *o, const uint64_t *locations, uint32_t count)
{
	uint64_t before = names_version(o->names);

	for (uint32_t i = 0; i <= count / 64; i++)
		for (uint64_t left = locations[i]; left; left &= left - 1)
			names_loc(o->names, i * 64 + (uint32_t)__builtin_ctzll(left));
	return names_version(o->names) != before;
}

/* Some names are known as soon as somebody asks, and then tell of wrappers whose callers count. */
static bool ask_for_sites(struct owners *o, const struct skeleton *s, const struct heap_names *n)
{
	uint64_t *need = xcalloc(n->locations / 64 + 1ul, sizeof *need);
	bool known = heap_sites_need(s, n, need) && owners_ask(o, need, n->locations);

	free(need);
	return known;
}

static void make_sites(struct owners *o, struct skeleton *s)
{
	struct heap_names *n = names_taken(o->names);

	if (o->sites && o->sites->skeleton == s && o->sites->names == n && o->of_stack)
		return;
	while (ask_for_sites(o, s, n))
		n = names_taken(o->names);
	heap_sites_drop(o->sites);
	o->sites = heap_sites_new(s, n);
	assign(o, s, n);
}

/* What all stacks of an owner hold: all stacks of its sites, unless the rule is another. */
static void sum_up(struct owners *o)
{
	const struct heap *h = o->heap;
	struct amounts *sums = xcalloc(o->held_count, sizeof *sums);

	free(o->site_sums);
	o->site_sums = xcalloc(h->sites->count + 1ul, sizeof *o->site_sums);
	heap_sites_sum(h->sites, h, o->site_sums);
	if (o->direct)
		heap_sum_by(h, h->owners->of_stack, sums);
	for (uint32_t i = 0; !o->direct && i < h->sites->count; i++)
		amounts_add(&sums[owner_of_site(o, h->names, h->sites->function[i])],
			    &o->site_sums[i].amounts);
	for (size_t i = 0; i < o->held_count; i++)
		o->held[i]->pub.amounts = sums[i];
	free(sums);
}

const struct heap_site *owners_sites(const struct owners *o)
{
	return o->site_sums;
}

const struct heap *owners_heap(struct owners *o)
{
	struct heap *h = model_heap(o->m);
	struct heap_sites *sites = o->sites;
	struct heap_owners *of_stack = o->of_stack;

	make_sites(o, h->skeleton);
	if (o->heap && o->of == h && sites == o->sites && of_stack == o->of_stack)
		return o->heap;
	heap_drop(o->heap);
	o->heap = heap_named(h, o->sites->names, o->sites, o->of_stack);
	heap_drop(o->of);
	o->of = heap_hold(h);
	sum_up(o);
	return o->heap;
}

void owners_refresh(struct owners *o)
{
	owners_heap(o);
}

struct names *owners_names(struct owners *o)
{
	return o->names;
}

const struct owner *owners_at(const struct owners *o, uint32_t number)
{
	return &o->held[number]->pub;
}

/* --- of one node */

/* Its place in the snapshot, NO_ID = it came since. No stack, it may have names that nobody asked
 * for. */
static uint32_t place_of(struct owners *o, uint32_t node)
{
	const struct node *n = model_node(o->m, node);

	for (;;) {
		const struct heap *h = owners_heap(o);
		const struct skeleton *s = h->skeleton;
		if (!n || !n->known || n->index >= s->nodes)
			return NO_ID;
		uint32_t at = s->node_of[n->index], above = at;
		while (above && h->names->place[s->location[above]].asked &&
		       h->names->site_frame[s->location[above]] == NO_ID)
			above = s->parent[above];
		uint64_t before = names_version(o->names);
		if (above)
			names_loc(o->names, s->location[above]);
		if (names_version(o->names) == before)
			return at;
	}
}

const struct owner *owners_in(struct owners *o, const struct heap *h, uint32_t at)
{
	const struct skeleton *s = h->skeleton;
	uint32_t frame;

	if (bit_of(s->stack_bits, at))
		return owners_at(o, h->owners->of_stack[skeleton_first(s, at)]);
	if (!at || o->direct)
		return owners_at(o, direct_owner(o, s, h->names, at));
	heap_site_above(s, h->names, at, &frame);
	return owners_at(
		o, owner_of_function(o, &h->names->function[h->names->frames[frame].function]));
}

const struct owner *owners_of_node(struct owners *o, uint32_t node)
{
	uint32_t at = place_of(o, node);

	return at == NO_ID ? owners_at(o, 0) : owners_in(o, o->heap, at);
}

uint32_t owners_site(struct owners *o, uint32_t leaf, uint32_t *frame_index)
{
	uint32_t at = place_of(o, leaf), frame;
	const struct heap *h = o->heap;
	const struct heap_names *n = h->names;

	*frame_index = 0;
	if (at == NO_ID || !at)
		return leaf;
	at = heap_site_above(h->skeleton, n, at, &frame);
	*frame_index = frame - n->first[h->skeleton->location[at]];
	return h->skeleton->id[at];
}
