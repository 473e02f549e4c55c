/* SPDX-License-Identifier: MIT
 *
 * owner.c - whose memory is it? owners/wrappers.c has the table of wrappers, owners/list.c lists
 * and history.
 *
 * A node's owner is cached on first use; sums follow the model's deltas. When names arrive, only
 * locations whose judgement (wrapper or not) changed are looked at again: their nodes, and below
 * these the paths of wrappers that ended there. So
 *     sum over owners = totals, at each tick, however many names are known.
 *
 * A walk over all stacks can run in slices (owners_make()): under a new rule, owners are assigned
 * one by one, and sums move with them. Where the model has no deltas, new sums are built beside the
 * published ones, which stay unchanged until then.
 */
#include "owners/internal.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 16u /* in what changed: whose that is is fetched from memory meanwhile */
#define UNASKED 0u
#define FRESH UINT32_MAX /* has counters, waits in the list of fresh nodes */

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

/* Recomputes the sums: they changed in an unknown way. */
static void make_anew(struct owners *o)
{
	for (size_t i = 0; i < o->held_count; i++)
		o->held[i]->next = (struct amounts){ 0 };
	o->stale = true;
	o->made = 0;
}

static void add_delta(struct amounts *a, const struct model_delta *d)
{
	amounts_add(a, &(struct amounts){ d->self, d->self_change, d->self_rate,
					  .sampled = d->self_sampled });
}

static void on_change(void *arg, const struct model_delta *d, size_t count)
{
	struct owners *o = arg;

	if (!d) {
		make_anew(o);
		return;
	}
	GROW(o->of_node, o->node_room, model_dense_count(o->m));
	for (size_t i = 0; i < count; i++) {
		const struct tally *t = &d[i].self;
		if (i + AHEAD < count)
			__builtin_prefetch(&o->of_node[d[i + AHEAD].node]);
		if (!(t->alloc_blocks | t->alloc_bytes | t->free_blocks | t->free_bytes |
		      d[i].self_rate.bytes | d[i].self_sampled))
			continue;
		uint32_t index = d[i].node, h = o->of_node[index];
		if (h == UNASKED) {
			o->of_node[index] = FRESH;
			GROW(o->fresh, o->fresh_room, o->fresh_count + 1);
			o->fresh[o->fresh_count++] = index;
		}
		if (h == UNASKED || h == FRESH)
			continue;
		if (!o->stale)
			add_delta(&o->held[h - 1]->pub.amounts, &d[i]);
		else if (index < o->made)
			add_delta(&o->held[h - 1]->next, &d[i]);
	}
}

static void book(const struct model *m, struct amounts *a, const struct node *n, bool add)
{
	const struct amounts self = { model_self(m, n), model_self_change(m, n),
				      model_self_rate(m, n), .sampled = n->self_estimate };

	(add ? amounts_add : amounts_sub)(a, &self);
}

/* Adds the node's amounts to the maintained sums, or takes them away. */
static void book_node(struct owners *o, uint32_t h, uint32_t index, bool add)
{
	const struct node *n = model_dense(o->m, index, NULL);

	if (!o->stale)
		book(o->m, &o->held[h - 1]->pub.amounts, n, add);
	else if (index < o->made)
		book(o->m, &o->held[h - 1]->next, n, add);
}

struct owners *owners_new(const struct model *m, struct symbols *s)
{
	struct owners *o = xcalloc(1, sizeof *o);

	o->m = m;
	o->names = names_new(m, s);
	o->stale = true;
	o->assigned = NO_ID;
	new_held(o, OWNER_UNKNOWN, "[unknown]");
	/* Observing does not change what the model says. */
	model_on_change((struct model *)m, on_change, o);
	return o;
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	model_off_change((struct model *)o->m, o);
	for (size_t i = 0; i < o->held_count; i++) {
		free(o->held[i]->other);
		free(o->held[i]);
	}
	names_free(o->names);
	free(o->held);
	free(o->of_lib);
	free(o->of_node);
	free(o->fresh);
	free(o->list);
	free(o->copies);
	free(o);
}

uint32_t owner_held(struct owners *o, uint32_t module)
{
	if (module == OWNER_GENERATED) {
		if (!o->generated)
			o->generated = new_held(o, module, GENERATED_NAME);
		return o->generated;
	}
	uint32_t lib = names_lib_of(o->names, module);

	if (lib == NO_ID)
		return 0;
	GROW(o->of_lib, o->lib_room, (size_t)lib + 1);
	if (!o->of_lib[lib])
		o->of_lib[lib] = new_held(o, module, names_lib(o->names, lib)->name);
	o->held[o->of_lib[lib]]->pub.module = names_lib(o->names, lib)->newest;
	return o->of_lib[lib];
}

static uint32_t parent_index(const struct owners *o, uint32_t index)
{
	uint32_t parent = model_dense(o->m, index, NULL)->parent;

	return parent == NO_ID ? 0 : parent;
}

static bool is_agent(const struct owners *o, const struct name_loc *l)
{
	const struct module *x = l->module == NO_ID ? NULL : model_module(o->m, l->module);

	return x && (x->flags & MTW_MODULE_AGENT);
}

static bool passes(struct owners *o, const struct name_loc *l)
{
	return o->direct ? is_agent(o, l) : l->wrapper;
}

static void tell(struct owners *o, const uint32_t *indices, size_t count)
{
	if (o->on_move)
		o->on_move(o->move_arg, indices, count);
}

static void tell_renamed(struct owners *o, const uint32_t *locs, size_t count)
{
	if (o->on_rename)
		o->on_rename(o->rename_arg, locs, count);
}

static uint32_t find_owner(struct owners *o, uint32_t index)
{
	for (; index; index = parent_index(o, index)) {
		const struct name_loc *l = names_loc(o->names, names_loc_of(o->names, index));
		if (l->kind == MTW_NODE_TRUNCATED)
			return 0;
		if (!passes(o, l))
			return owner_held(o, l->kind == MTW_NODE_NOWHERE ? OWNER_GENERATED
									 : l->module);
	}
	return 0;
}

static void assign(struct owners *o, uint32_t index)
{
	uint32_t before = o->of_node[index], now = find_owner(o, index) + 1;

	if (before == now)
		return;
	if (before != UNASKED && before != FRESH)
		book_node(o, before, index, false);
	book_node(o, now, index, true);
	o->of_node[index] = now;
}

/* A location was renamed: all stacks that its nodes end, or ended, get their owners again. */
static void reassign(struct owners *o, uint32_t loc)
{
	uint32_t *stack = NULL, *moved = NULL;
	size_t room = 0, count = 0, moved_room = 0, moved_count = 0;

	for (uint32_t i = names_loc(o->names, loc)->first_node; i != NO_ID;
	     i = names_next_node(o->names, i)) {
		GROW(stack, room, count + 1);
		stack[count++] = i;
	}
	while (count) {
		uint32_t index = stack[--count];
		if (o->of_node[index] != UNASKED && o->of_node[index] != FRESH)
			assign(o, index);
		/* one that waits for its owner may have a site */
		if (model_dense(o->m, index, NULL)->first_slot != NO_ID) {
			GROW(moved, moved_room, moved_count + 1);
			moved[moved_count++] = index;
		}
		uint32_t c = model_dense(o->m, index, NULL)->first_child;
		for (; c != NO_ID; c = model_dense(o->m, c, NULL)->next_sibling) {
			const struct name_loc *l = names_loc(o->names, names_loc_of(o->names, c));
			/* sites go by wrappers, whatever owners go by */
			if (!passes(o, l) && !l->wrapper)
				continue;
			GROW(stack, room, count + 1);
			stack[count++] = c;
		}
	}
	if (moved_count)
		tell(o, moved, moved_count);
	free(moved);
	free(stack);
}

/* After a first state it is as long as there are stacks, and never again. */
static void forget_fresh(struct owners *o)
{
	free(o->fresh);
	o->fresh = NULL;
	o->fresh_count = o->fresh_room = 0;
}

/* Assigns owners by the current rule. Stacks that end where all rules stop keep theirs. */
static bool assign_all(struct owners *o, bool (*step)(void *arg), void *arg)
{
	for (; o->assigned < model_dense_count(o->m); o->assigned++) {
		uint32_t i = o->assigned;
		if (i % NODES_A_STEP == 0 && !step(arg))
			return false;
		if (o->of_node[i] != UNASKED && o->of_node[i] != FRESH)
			assign(o, i);
	}
	o->assigned = NO_ID;
	tell(o, NULL, 0);
	return true;
}

static bool sum_all(struct owners *o, bool (*step)(void *arg), void *arg)
{
	/* The root holds what no node could be made for. */
	while (o->made < model_dense_count(o->m)) {
		uint32_t i = o->made;
		if (i % NODES_A_STEP == 0 && !step(arg))
			return false;
		struct tally self = model_self(o->m, model_dense(o->m, i, NULL));
		o->made++;
		if (!(self.alloc_blocks | self.alloc_bytes))
			continue;
		if (o->of_node[i] == UNASKED || o->of_node[i] == FRESH)
			assign(o, i);
		else
			book_node(o, o->of_node[i], i, true);
	}
	for (size_t i = 0; i < o->held_count; i++)
		o->held[i]->pub.amounts = o->held[i]->next;
	o->stale = false;
	return true;
}

static bool assign_fresh(struct owners *o, bool (*step)(void *arg), void *arg)
{
	while (o->fresh_count) {
		uint32_t i = o->fresh[o->fresh_count - 1];
		if (!step(arg))
			return false;
		if (o->of_node[i] == FRESH)
			assign(o, i);
		o->fresh_count--;
	}
	forget_fresh(o);
	return true;
}

bool owners_make(struct owners *o, bool (*step)(void *arg), void *arg)
{
	return (o->assigned == NO_ID || assign_all(o, step, arg)) &&
	       (!o->stale || sum_all(o, step, arg)) && assign_fresh(o, step, arg);
}

bool owners_whole(const struct owners *o)
{
	return o->assigned == NO_ID && !o->stale && !o->fresh_count;
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

void owners_in_slices(struct owners *o, bool on)
{
	o->sliced = on;
}

void owners_refresh(struct owners *o)
{
	const uint32_t *changed;
	bool forgotten = names_update(o->names);

	GROW(o->of_node, o->node_room, model_dense_count(o->m));
	if (forgotten) {
		memset(o->of_node, 0, o->node_room * sizeof *o->of_node);
		forget_fresh(o);
		make_anew(o);
	}
	size_t count = names_refresh(o->names, &changed);
	if (count)
		tell_renamed(o, changed, count);
	/* Judging may ask for more names, but answers only come with the next refresh. */
	for (size_t i = 0; i < count; i++)
		reassign(o, changed[i]);
	if (forgotten || !o->sliced)
		owners_make(o, always, NULL);
	if (forgotten)
		tell(o, NULL, 0);
}

void owners_on_move(struct owners *o, void (*fn)(void *arg, const uint32_t *indices, size_t count),
		    void *arg)
{
	o->on_move = fn;
	o->move_arg = arg;
}

void owners_on_rename(struct owners *o, void (*fn)(void *arg, const uint32_t *locs, size_t count),
		      void *arg)
{
	o->on_rename = fn;
	o->rename_arg = arg;
}

struct names *owners_names(struct owners *o)
{
	return o->names;
}

const struct owner *owners_of_index(struct owners *o, uint32_t index)
{
	uint32_t h = index < o->node_room ? o->of_node[index] : UNASKED;

	if (h != UNASKED && h != FRESH)
		return &o->held[h - 1]->pub;
	/* One without counters of its own, or whose turn has not come: asked about now and then,
	 * not kept. */
	return &o->held[find_owner(o, index)]->pub;
}

const struct owner *owners_of_node(struct owners *o, uint32_t node)
{
	const struct node *n = model_node(o->m, node);

	owners_refresh(o);
	return n && n->known ? owners_of_index(o, n->index) : &o->held[0]->pub;
}

uint32_t owners_site_of_index(struct owners *o, uint32_t leaf, uint32_t *frame_index)
{
	*frame_index = 0;
	for (uint32_t index = leaf; index; index = parent_index(o, index)) {
		const struct name_loc *l = names_loc(o->names, names_loc_of(o->names, index));
		for (uint32_t i = 0; !l->wrapper && i < l->count; i++) {
			if (names_fn(o->names, l->frames[i].fn)->wrapper)
				continue;
			*frame_index = i;
			return index;
		}
	}
	return leaf;
}

uint32_t owners_site(struct owners *o, uint32_t leaf, uint32_t *frame_index)
{
	const struct node *n = model_node(o->m, leaf);
	uint32_t id = leaf;

	*frame_index = 0;
	owners_refresh(o);
	if (n && n->known && n->index)
		model_dense(o->m, owners_site_of_index(o, n->index, frame_index), &id);
	return id;
}
