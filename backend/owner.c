/* SPDX-License-Identifier: MIT
 *
 * owner.c - whose memory is it? The table of wrappers itself is in wrappers.c.
 *
 * A node's owner is kept once it was asked for; sums follow the model's deltas. When names
 * arrive, only locations whose judgement (wrapper or not) turned are looked at again: their
 * nodes, and below these the paths of wrappers that ended there. So
 *     sum over owners = totals, at each tick, whatever is known of names.
 *
 * What goes over all stacks can be made in slices (owners_make()): owners by another rule are assigned one by
 * one, sums move with them. Sums that the model cannot tell the differences of are made beside those that are
 * lent, which stay as they were until then.
 */
#include "owner_priv.h"

#include "series.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 16u /* in what changed: whose that is is fetched from memory meanwhile */
#define NEAR_NS 15000000000u /* a straight line is drawn over so much time, and over no more */
#define UNASKED 0u
#define FRESH UINT32_MAX /* has counters, waits in the list of fresh nodes */

struct held {
	struct owner pub;
	struct owner next;       /* its sums, while they are made anew */
	uint64_t series[SERIES_MAX + 1];
	uint64_t *other;         /* as long: by the rule that is not in force; NULL = it never was. Owned */
};

/* What the columns of the series are. */
struct columns {
	uint64_t times[SERIES_MAX + 1];
	bool known[SERIES_MAX + 1];
	size_t count;
};

struct owners {
	const struct model *m;
	struct names *names;
	struct held **held;      /* 0 = unknown; then in order of appearance */
	size_t held_count, held_room;
	uint32_t *of_lib;        /* lib -> held index, 0 = none yet */
	size_t lib_room;
	uint32_t *of_node;       /* dense index -> held index + 1, UNASKED or FRESH */
	size_t node_room;
	uint32_t *fresh;
	size_t fresh_count, fresh_room;
	bool stale;              /* sums are being made anew: */
	uint32_t made;           /* those of nodes before this are in held.next */
	uint32_t assigned;       /* nodes from here on may have an owner by another rule; NO_ID: none has */
	bool sliced;             /* somebody goes on with what is not whole */
	bool direct;
	void (*on_move)(void *arg, const uint32_t *indices, size_t count);
	void *move_arg;
	void (*on_rename)(void *arg, const uint32_t *locs, size_t count);
	void *rename_arg;
	const struct owner **list;    /* sorted */
	struct owner *copies;         /* in that order: what owners_update() lends */
	size_t list_room, copies_room;
	unsigned letters;        /* given out */
	struct columns columns, other;
	uint64_t since_ns;       /* the rule is in force from then on; 0 = from the start */
};

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

static void take_sums(struct owner *to, const struct owner *from)
{
	to->sum = from->sum;
	to->change = from->change;
	to->rate_bytes = from->rate_bytes;
	to->sampled = from->sampled;
}

/* What they add up to is another, and how is not known. */
static void make_anew(struct owners *o)
{
	for (size_t i = 0; i < o->held_count; i++)
		take_sums(&o->held[i]->next, &(struct owner){ 0 });
	o->stale = true;
	o->made = 0;
}

static void add_delta(struct owner *w, const struct model_delta *d)
{
	w->sum.alloc_blocks += d->self.alloc_blocks;
	w->sum.alloc_bytes += d->self.alloc_bytes;
	w->sum.free_blocks += d->self.free_blocks;
	w->sum.free_bytes += d->self.free_bytes;
	w->change.born_blocks += d->self_change.born_blocks;
	w->change.born_bytes += d->self_change.born_bytes;
	w->change.gone_blocks += d->self_change.gone_blocks;
	w->change.gone_bytes += d->self_change.gone_bytes;
	w->rate_bytes += d->self_rate_bytes;
	w->sampled += d->self_sampled;
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
		if (!(t->alloc_blocks | t->alloc_bytes | t->free_blocks | t->free_bytes | d[i].self_rate_bytes |
		      d[i].self_sampled))
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
			add_delta(&o->held[h - 1]->pub, &d[i]);
		else if (index < o->made)
			add_delta(&o->held[h - 1]->next, &d[i]);
	}
}

/* Adds (or with sign -1 takes away) all that a node allocated itself. */
static void book(const struct model *m, struct owner *w, const struct node *n, uint64_t sign)
{
	struct tally self = model_self(m, n);
	struct change change = model_self_change(m, n);

	w->sum.alloc_blocks += sign * self.alloc_blocks;
	w->sum.alloc_bytes += sign * self.alloc_bytes;
	w->sum.free_blocks += sign * self.free_blocks;
	w->sum.free_bytes += sign * self.free_bytes;
	w->change.born_blocks += sign * change.born_blocks;
	w->change.born_bytes += sign * change.born_bytes;
	w->change.gone_blocks += sign * change.gone_blocks;
	w->change.gone_bytes += sign * change.gone_bytes;
	w->rate_bytes += sign * model_self_rate(m, n).bytes;
	w->sampled += sign * n->self_estimate;
}

/* To the sums that follow, or away from them. */
static void book_node(struct owners *o, uint32_t h, uint32_t index, uint64_t sign)
{
	const struct node *n = model_dense(o->m, index, NULL);

	if (!o->stale)
		book(o->m, &o->held[h - 1]->pub, n, sign);
	else if (index < o->made)
		book(o->m, &o->held[h - 1]->next, n, sign);
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

static uint32_t held_of_module(struct owners *o, uint32_t module)
{
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
			return held_of_module(o, l->module);
	}
	return 0;
}

static void assign(struct owners *o, uint32_t index)
{
	uint32_t before = o->of_node[index], now = find_owner(o, index) + 1;

	if (before == now)
		return;
	if (before != UNASKED && before != FRESH)
		book_node(o, before, index, (uint64_t)-1);
	book_node(o, now, index, 1);
	o->of_node[index] = now;
}

/* A location has other names: everything that its nodes end, or ended, is assigned anew. */
static void reassign(struct owners *o, uint32_t loc)
{
	uint32_t *stack = NULL, *moved = NULL;
	size_t room = 0, count = 0, moved_room = 0, moved_count = 0;

	for (uint32_t i = names_loc(o->names, loc)->first_node; i != NO_ID; i = names_next_node(o->names, i)) {
		GROW(stack, room, count + 1);
		stack[count++] = i;
	}
	while (count) {
		uint32_t index = stack[--count];
		if (o->of_node[index] != UNASKED && o->of_node[index] != FRESH)
			assign(o, index);
		if (model_dense(o->m, index, NULL)->first_slot != NO_ID) { /* one that waits for its owner may have a site */
			GROW(moved, moved_room, moved_count + 1);
			moved[moved_count++] = index;
		}
		uint32_t c = model_dense(o->m, index, NULL)->first_child;
		for (; c != NO_ID; c = model_dense(o->m, c, NULL)->next_sibling) {
			const struct name_loc *l = names_loc(o->names, names_loc_of(o->names, c));
			if (!passes(o, l) && !l->wrapper) /* sites go by wrappers, whatever owners go by */
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

/* Owners by the rule that is in force now. Stacks that end where all rules stop keep theirs. */
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
			book_node(o, o->of_node[i], i, 1);
	}
	for (size_t i = 0; i < o->held_count; i++)
		take_sums(&o->held[i]->pub, &o->held[i]->next);
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
	return (o->assigned == NO_ID || assign_all(o, step, arg)) && (!o->stale || sum_all(o, step, arg)) &&
	       assign_fresh(o, step, arg);
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

void owners_on_move(struct owners *o, void (*fn)(void *arg, const uint32_t *indices, size_t count), void *arg)
{
	o->on_move = fn;
	o->move_arg = arg;
}

void owners_on_rename(struct owners *o, void (*fn)(void *arg, const uint32_t *locs, size_t count), void *arg)
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
	/* One without counters of its own, or whose turn has not come: asked about now and then, not kept. */
	return &o->held[find_owner(o, index)]->pub;
}

const struct owner *owners_of_node(struct owners *o, uint32_t node)
{
	const struct node *n = model_node(o->m, node);

	owners_refresh(o);
	return n && n->known ? owners_of_index(o, n->index) : &o->held[0]->pub;
}

int owners_add_wrapper(struct owners *o, const char *pattern)
{
	o->assigned = 0;
	int rc = names_add_wrapper(o->names, pattern);
	tell_renamed(o, NULL, 0);
	return rc;
}

bool owners_is_wrapper(struct owners *o, uint32_t module, const struct symbol_frame *f)
{
	const struct module *x = module == NO_ID ? NULL : model_module(o->m, module);

	return x && wrappers_match(names_wrappers(o->names), x->flags, f->function, f->name);
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

static uint64_t *other_of(struct held *h)
{
	if (!h->other)
		h->other = xcalloc(SERIES_MAX + 1, sizeof *h->other);
	return h->other;
}

static void switch_rule(struct owners *o)
{
	const struct point *points;
	size_t count = model_history(o->m, &points);
	struct columns columns = o->columns;
	uint64_t series[SERIES_MAX + 1];

	o->columns = o->other;
	o->other = columns;
	for (size_t h = 0; h < o->held_count; h++) {
		memcpy(series, o->held[h]->series, sizeof series);
		memcpy(o->held[h]->series, other_of(o->held[h]), sizeof series);
		memcpy(o->held[h]->other, series, sizeof series);
	}
	o->direct = !o->direct;
	o->since_ns = count ? points[count - 1].time_ns : 0;
	o->assigned = 0;
}

bool owners_direct(struct owners *o, int on)
{
	if (on >= 0 && o->direct != (on != 0))
		switch_rule(o);
	return o->direct;
}

const bool *owners_known(const struct owners *o)
{
	return o->columns.known;
}

/* --- the list, its letters, and the history by owner */

static int heavier(const void *a, const void *b)
{
	const struct owner *x = *(const struct owner *const *)a, *y = *(const struct owner *const *)b;
	uint64_t lx = live_bytes(&x->sum), ly = live_bytes(&y->sum);

	if (lx != ly)
		return lx < ly ? 1 : -1;
	return strcmp(x->name, y->name);
}

static size_t column_of(const struct columns *c, uint64_t time_ns)
{
	size_t lo = 0, hi = c->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (c->times[mid] < time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->count && c->times[lo] == time_ns ? lo : SIZE_MAX;
}

/* On the straight line from one point, where it held `then`, to the last one, which is now. */
static uint64_t between(const struct point *points, size_t from, size_t p, size_t last, uint64_t then, uint64_t now)
{
	uint64_t span = points[last].time_ns - points[from].time_ns;

	if (p >= last || !span)
		return now;
	return (uint64_t)((double)then +
			  (double)(points[p].time_ns - points[from].time_ns) / (double)span * ((double)now - (double)then));
}

/* Whether point p, for which nothing was kept, is known: it lies between two that are, and these are near, or is now. */
static bool filled_in(const struct owners *o, const struct point *points, size_t from, size_t p, size_t last)
{
	return p == last || (points[p].time_ns >= o->since_ns && points[last].time_ns - points[from].time_ns <= NEAR_NS);
}

/* Points came, and none went. */
static void add_columns(struct owners *o, const struct point *points, size_t count)
{
	size_t from = o->columns.count - 1;

	for (size_t p = from + 1; p < count; p++) {
		o->columns.times[p] = points[p].time_ns;
		o->columns.known[p] = filled_in(o, points, from, p, count - 1);
		for (size_t h = 0; h < o->held_count; h++)
			o->held[h]->series[p] = between(points, from, p, count - 1, o->held[h]->series[from],
							live_bytes(&o->held[h]->pub.sum));
	}
	o->columns.count = count;
}

/*
 * What an owner held at point p: a column kept from then, or the agent's own figure; between the last that is
 * known and now it goes on the straight line. Or nobody knows: another rule was in force, or nobody looked.
 */
static void fill_columns(struct owners *o, const struct point *points, size_t count)
{
	const uint32_t *modules;
	size_t from_agent = model_history_owners(o->m, &modules), from = 0;
	uint64_t (*made)[SERIES_MAX + 1] = xcalloc(o->held_count, sizeof *made);
	bool known[SERIES_MAX + 1];

	for (size_t p = 0; p < count; p++) {
		size_t column = p + 1 < count ? column_of(&o->columns, points[p].time_ns) : SIZE_MAX;
		const uint64_t *bytes = o->direct ? NULL : model_history_owner_bytes(o->m, p);
		if (column != SIZE_MAX || bytes)
			from = p;
		known[p] = column != SIZE_MAX ? o->columns.known[column] : bytes || filled_in(o, points, from, p, count - 1);
		for (size_t h = 0; h < o->held_count && known[p] && (column != SIZE_MAX || !bytes); h++)
			made[h][p] = column != SIZE_MAX ? o->held[h]->series[column]
							: between(points, from, p, count - 1, made[h][from],
								  live_bytes(&o->held[h]->pub.sum));
		for (size_t k = 0; column == SIZE_MAX && bytes && k < from_agent; k++)
			made[held_of_module(o, modules[k])][p] += bytes[k];
	}
	for (size_t h = 0; h < o->held_count; h++)
		memcpy(o->held[h]->series, made[h], count * sizeof(uint64_t));
	for (size_t p = 0; p < count; p++) {
		o->columns.times[p] = points[p].time_ns;
		o->columns.known[p] = known[p];
	}
	o->columns.count = count;
	free(made);
}

static void update_series(struct owners *o)
{
	const struct point *points;
	const uint32_t *modules;
	size_t count = model_history(o->m, &points);
	size_t owners = model_history_owners(o->m, &modules);

	/* So that no owner appears while columns are made. */
	for (size_t k = 0; k < owners; k++)
		held_of_module(o, modules[k]);
	const struct columns *c = &o->columns;
	bool same = count == c->count && count && points[count - 1].time_ns == c->times[count - 1] &&
		    points[0].time_ns == c->times[0];
	if (same) {
		for (size_t h = 0; h < o->held_count; h++)
			o->held[h]->series[count - 1] = live_bytes(&o->held[h]->pub.sum);
		return;
	}
	if (c->count && count > c->count && points[c->count - 1].time_ns == c->times[c->count - 1] &&
	    points[0].time_ns == c->times[0])
		add_columns(o, points, count);
	else
		fill_columns(o, points, count);
}

void owners_forget_history(struct owners *o)
{
	o->columns.count = o->other.count = 0;
	o->since_ns = 0;
}

void owners_inherit(struct owners *o, struct owners *from)
{
	for (size_t i = 0; i < o->held_count; i++)
		o->held[i]->pub.letter = '?';
	for (size_t i = 0; i < from->held_count; i++) {
		const struct held *f = from->held[i];
		uint32_t to = f->pub.module == OWNER_UNKNOWN ? 0 : held_of_module(o, f->pub.module);
		o->held[to]->pub.letter = f->pub.letter;
		memcpy(o->held[to]->series, f->series, sizeof f->series);
		if (f->other)
			memcpy(other_of(o->held[to]), f->other, sizeof f->series);
	}
	o->columns = from->columns;
	o->other = from->other;
	o->since_ns = from->since_ns;
	o->letters = from->letters;
	if (o->direct != from->direct)
		o->assigned = 0;
	o->direct = from->direct;
}

static char letter(unsigned n)
{
	return n < 26 ? (char)('A' + n) : n < 52 ? (char)('a' + n - 26) : '.';
}

size_t owners_update(struct owners *o, const struct owner **list)
{
	size_t count = 0;

	owners_refresh(o);
	GROW(o->list, o->list_room, o->held_count);
	for (size_t i = 0; i < o->held_count; i++)
		if (o->held[i]->pub.sum.alloc_blocks)
			o->list[count++] = &o->held[i]->pub;
	qsort(o->list, count, sizeof *o->list, heavier);
	/* The first letters are for the heaviest: of sums that are whole. */
	for (size_t i = 0; i < count && owners_whole(o); i++) {
		struct owner *w = (struct owner *)o->list[i];
		if (w->letter == '?' && w->module != OWNER_UNKNOWN && live_bytes(&w->sum))
			w->letter = letter(o->letters++);
	}
	if (owners_whole(o)) /* else they are not what history should keep */
		update_series(o);
	GROW(o->copies, o->copies_room, count + 1);
	for (size_t i = 0; i < count; i++)
		o->copies[i] = *o->list[i];
	*list = o->copies;
	return count;
}
