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
#include "owners/owners_state.h"
#include "base/worker.h"
#include "model/columns.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_NS 250000000u /* between two batches of names */

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

static uint32_t held_of_lib(struct owners *o, uint32_t lib)
{
	GROW(o->of_lib, o->lib_room, (size_t)lib + 1);
	const struct name_lib *l = names_lib(o->names, lib);
	if (!o->of_lib[lib])
		o->of_lib[lib] = new_held(o, l->newest, l->name);
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

/* Adds it if it is missing. */
static struct owner *owner_of(struct owners *o, uint32_t number)
{
	uint32_t at = number == HEAP_OWNER_UNKNOWN     ? 0
		      : number == HEAP_OWNER_GENERATED ? owner_held(o, OWNER_GENERATED)
						       : held_of_lib(o, number - HEAP_OWNER_LIB);

	return &o->held[at]->pub;
}

static void take_sums(struct owners *o)
{
	const struct heap *h = o->heap;

	for (size_t i = 0; i < o->held_count; i++)
		o->held[i]->pub.amounts = (struct amounts){ 0 };
	for (uint32_t i = 0; i < h->owners->count; i++)
		if (h->of_owner[i].sum.alloc_blocks)
			owner_of(o, i)->amounts = h->of_owner[i];
	for (uint32_t lib = 0; lib < o->lib_room && lib < h->names->libs; lib++)
		if (o->of_lib[lib])
			o->held[o->of_lib[lib]]->pub.module = names_lib(o->names, lib)->newest;
}

/* Any thread. */
static void name(void *arg)
{
	struct naming *x = arg;

	names_copy_make(&x->coming);
	struct heap_names *n = x->coming.made;
	if (!x->last || x->last->skeleton != x->of->skeleton || x->last->names != n) {
		x->need = xcalloc(n->locations / 64 + 1ul, sizeof *x->need);
		heap_sites_need(x->of->skeleton, n, x->need);
	}
	x->made = heap_named(x->of, n, x->direct, x->last);
}

static void prepare(struct owners *o, struct heap *of)
{
	struct naming *x = &o->naming;

	x->of = heap_hold(of);
	x->last = o->heap ? heap_hold(o->heap) : NULL;
	x->direct = o->direct;
	names_copy_begin(o->names, &x->coming);
	o->of_names = names_version(o->names);
	o->of_awaited = model_awaited(o->m);
}

static void drop_naming(struct owners *o)
{
	struct naming *x = &o->naming;

	heap_drop(x->made);
	heap_drop(x->of);
	heap_drop(x->last);
	names_copy_end(o->names, &x->coming);
	free(x->need);
	*x = (struct naming){ 0 };
}

static void take_named(struct owners *o)
{
	struct naming *x = &o->naming;

	heap_drop(o->heap);
	o->heap = heap_hold(x->made);
	heap_drop(o->of);
	o->of = heap_hold(x->of);
	take_sums(o);
	o->made_ns = now_ns();
	if (x->need)
		owners_ask(o, x->need, x->coming.made->locations);
	drop_naming(o);
}

static void take_worked(struct owners *o)
{
	if (!worker_wait(o->worker))
		return;
	take_named(o);
	o->cost_ns = worker_cost(o->worker);
}

static void name_at_once(struct owners *o, struct heap *h)
{
	uint64_t began = now_ns();

	while (o->of_names != names_version(o->names) || !o->heap ||
	       o->heap->skeleton != h->skeleton) {
		o->of_names = names_version(o->names);
		if (!ask_for_sites(o, h->skeleton, names_taken(o->names)))
			break;
	}
	prepare(o, h);
	name(&o->naming);
	take_named(o);
	o->cost_ns = o->made_ns - began;
}

static bool stands(const struct owners *o, const struct heap *h)
{
	return o->heap && o->of == h && o->of_names == names_version(o->names) &&
	       o->heap->owners->direct == o->direct;
}

static bool must_not_wait(const struct owners *o)
{
	return !o->heap || o->hurried || !model_paced(o->m) ||
	       o->of_awaited != model_awaited(o->m) || o->cost_ns < WORKER_LONG_NS;
}

/* Names come in thousands. */
static bool is_due(const struct owners *o, const struct heap *h)
{
	return o->of != h || o->heap->owners->direct != o->direct ||
	       now_ns() - o->made_ns >= NAMES_NS;
}

void owners_hurry(struct owners *o)
{
	o->hurried = true;
}

const struct heap *owners_heap(struct owners *o)
{
	struct heap *h = model_heap(o->m);

	if (worker_busy(o->worker) && !must_not_wait(o))
		return o->heap;
	take_worked(o);
	names_refresh(o->names);
	bool wait = !must_not_wait(o);
	o->hurried = false;
	if (stands(o, h))
		return o->heap;
	if (wait && !o->worker)
		o->worker = worker_new();
	if (!wait || !o->worker) {
		name_at_once(o, h);
	} else if (is_due(o, h)) {
		prepare(o, h);
		worker_begin(o->worker, name, &o->naming);
	}
	return o->heap;
}

bool owners_behind(struct owners *o)
{
	if (worker_busy(o->worker))
		return false;
	bool named = o->heap && o->of_names != names_version(o->names) && is_due(o, o->of);
	return o->naming.made || named || model_behind(o->m);
}

bool owners_interval_late(const struct owners *o)
{
	return o->heap && o->heap->interval != model_intervals(o->m);
}

void owners_forked(struct owners *o)
{
	o->worker = NULL;
	o->naming = (struct naming){ 0 };
	names_forked(o->names);
	model_forked((struct model *)o->m);
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	worker_free(o->worker);
	drop_naming(o); /* the model may be gone: nothing is asked for any more */
	heap_drop(o->heap);
	heap_drop(o->of);
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

void owners_refresh(struct owners *o)
{
	owners_heap(o);
}

struct names *owners_names(struct owners *o)
{
	return o->names;
}

const struct owner *owners_at(struct owners *o, uint32_t number)
{
	return owner_of(o, number);
}

/* Its place in the snapshot, NO_ID = it came since. No stack, it may have names that nobody asked
 * for. */
static uint32_t place_of(struct owners *o, uint32_t node)
{
	for (;;) {
		const struct heap *h = owners_heap(o);
		const struct skeleton *s = h->skeleton;
		uint32_t at = skeleton_find(s, node), above = at;
		if (at == NO_ID)
			return NO_ID;
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

	if (bit_of(s->stack_bits, at))
		return owners_at(o, heap_owner_of_stack(h, skeleton_first(s, at)));
	return owners_at(o, heap_owner(s, h->names, at, h->owners->direct));
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
