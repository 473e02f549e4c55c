/* SPDX-License-Identifier: MIT
 *
 * sites.c - call sites: stacks joined by the function that allocates (heap/sites.h).
 *
 * A site keeps its number, and what only time tells of it (growth, life), as long as its function
 * has a number. What it holds is summed up for each snapshot.
 */
#include "query/sites/sites.h"
#include "query/sites/expected_sites.h"

#include <stdlib.h>
#include <string.h>

static struct query_site *new_site(struct site_table *t, uint32_t fn)
{
	struct query_site *s = xcalloc(1, sizeof *s);

	GROW(t->sites, t->room, t->count + 1);
	t->sites[t->count++] = s;
	s->pub.id = (uint32_t)t->count;
	s->fn = fn;
	map_set(&t->by_fn, fn, s->pub.id);
	return s;
}

static void forget(struct site_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->sites[i]);
	t->count = t->order_count = t->sample_count = t->out_count = 0;
	t->growth = (struct growth){ 0 };
	t->verdict = (struct verdict){ 0 };
	memset(t->flow, 0, sizeof t->flow);
	t->shaped = 0;
	site_marks_forget(&t->at_samples);
	site_marks_forget(&t->at_ends);
	map_clear(&t->by_fn);
	heap_sites_drop(t->of);
	free(t->number);
	t->of = NULL;
	t->number = NULL;
}

void sites_free(struct query *q)
{
	struct site_table *t = q->sites;

	if (!t)
		return;
	forget(t);
	map_release(&t->by_fn);
	free(t->sites);
	free(t->out);
	free(t->order);
	free(t);
	q->sites = NULL;
}

/* The numbers of the snapshot's sites, 0 for blocks without any frame; free() it. */
static uint32_t *numbers_of(struct site_table *t, const struct heap_sites *sites)
{
	uint32_t *number = xcalloc(sites->count + 1ul, sizeof *number);

	for (uint32_t i = 0; i < sites->count; i++) {
		uint32_t fn = sites->function[i];
		if (fn == NO_ID)
			continue;
		number[i] = map_get(&t->by_fn, fn, 0);
		if (!number[i])
			number[i] = new_site(t, fn)->pub.id;
	}
	return number;
}

/* A stack that moves because of a name takes its past along: both sites begin anew. */
static void follow_stack(struct site_table *t, uint32_t was, uint32_t now)
{
	if (was == now)
		return;
	t->linked += !was;
	t->version += was != 0;
	if (was)
		t->sites[was - 1]->moved = t->sites[now - 1]->moved = true;
}

/* number: of the snapshot's sites. Takes it. */
static void follow_stacks(struct site_table *t, struct heap_sites *sites, uint32_t *number)
{
	uint32_t *was = t->of == sites ? NULL : sites_of_stacks(t, sites->skeleton);

	for (uint32_t k = 0; was && k < sites->skeleton->stacks; k++)
		follow_stack(t, was[k], number[sites->of_stack[k]]);
	free(was);
	users_hold(&sites->users);
	heap_sites_drop(t->of);
	free(t->number);
	t->of = sites;
	t->number = number;
}

/* The caller of a frame of a node: the nearest one that is no mere wrapper (make_shared, emplace),
 * or else just the next. */
static const char *caller_of(struct query *q, uint32_t node, uint32_t frame)
{
	const struct heap_names *n = q->raw->names;
	const struct skeleton *s = q->raw->skeleton;
	const char *next = NULL;

	for (frame++;; frame = n->first[s->location[node]]) {
		query_look(q, s->location[node]);
		for (; frame < n->first[s->location[node] + 1]; frame++) {
			const struct heap_function *f = &n->function[n->frames[frame].function];
			if (f->tells)
				return f->name;
			if (!next)
				next = f->name;
		}
		node = s->parent[node];
		if (!node)
			return next;
	}
}

/* "call site < caller" and its place, from the stack that holds most. */
static void describe(struct query *q, struct query_site *s, uint32_t stack)
{
	const struct heap *h = q->raw;
	const struct heap_names *n = h->names;
	uint32_t frame, node = heap_site_node(h->skeleton, n, stack, &frame),
			location = h->skeleton->location[node];
	const struct heap_frame *f = &n->frames[frame];

	s->pub.name = n->function[f->function].name;
	s->pub.function = n->function[f->function].function;
	s->pub.file = f->file;
	s->pub.line = f->line;
	s->pub.module = n->place[location].module;
	s->pub.caller = caller_of(q, node, frame);
	s->pub.flags = (s->pub.flags & ROW_ZERO) | (expected_stack(q, stack) ? ROW_EXPECTED : 0);
	query_look(q, location);
	s->pub.flags |= n->place[location].pending ? ROW_PENDING : 0;
	s->pub.flags |= n->place[location].kind == MTW_NODE_TRUNCATED ? ROW_TRUNCATED : 0;
}

/* CHURN = allocated - |NET|, in the window. */
static uint64_t churn_of(const struct rate *r)
{
	uint64_t net = r->bytes > r->freed ? r->bytes - r->freed : r->freed - r->bytes;

	return r->bytes > net ? r->bytes - net : 0;
}

static void publish(struct query *q, struct query_site *s, const struct heap_site *passed,
		    bool anew)
{
	uint32_t leaf = q->raw->skeleton->id[q->raw->skeleton->node_of_stack[passed->heaviest]];

	s->pub.amounts = passed->amounts;
	s->pub.churn_known = model_window(q->m) != 0;
	s->pub.churn_bytes = (uint64_t)model_per_second(q->m, churn_of(&passed->amounts.rate));
	anew |= s->pub.leaf != leaf;
	s->pub.leaf = leaf;
	s->pub.owner = owners_at(q->o, heap_owner_of_stack(q->raw, passed->heaviest));
	if (anew)
		describe(q, s, passed->heaviest);
	s->pub.flags &= ~(unsigned)ROW_ZERO;
	s->pub.flags |= amounts_zero_flag(q->until, &s->pub.amounts);
}

/* Of the stacks that pass the filter; free() it. */
static struct heap_site *sum_up(const struct query *q)
{
	struct heap_site *sums = xmalloc((q->raw->sites->count + 1ul) * sizeof *sums);

	if (q->heap == q->raw)
		memcpy(sums, q->raw->of_site, q->raw->sites->count * sizeof *sums);
	else
		heap_sum_by(q->heap, q->raw->sites->of_stack, q->raw->sites->count, sums);
	return sums;
}

static void take_sums(struct query *q, struct site_table *t, const uint32_t *number, bool anew)
{
	const struct heap_site *all = q->raw->of_site;
	struct heap_site *passed = sum_up(q);

	for (size_t i = 0; i < t->count; i++) {
		t->sites[i]->all = t->sites[i]->pub.amounts = (struct amounts){ 0 };
		t->sites[i]->pub.stacks = 0;
	}
	for (uint32_t i = 0; i < q->raw->sites->count; i++) {
		if (!number[i] || !all[i].stacks)
			continue;
		struct query_site *s = t->sites[number[i] - 1];
		s->all = all[i].amounts;
		s->pub.stacks = all[i].stacks;
		if (!passed[i].stacks)
			passed[i].heaviest = all[i].heaviest;
		publish(q, s, &passed[i], anew);
	}
	free(passed);
}

static struct site_table *table(struct query *q)
{
	struct site_table *t = q->sites;

	if (!t) {
		t = q->sites = xcalloc(1, sizeof *t);
		t->at_ends.which = AT_INTERVALS;
		t->resets = model_resets(q->m);
	}
	if (t->resets != model_resets(q->m)) {
		forget(t);
		t->resets = model_resets(q->m);
	}
	return t;
}

static void update(struct query *q, struct site_table *t)
{
	struct heap_sites *sites = q->raw->sites;
	uint32_t *number = numbers_of(t, sites);
	uint64_t rules = expected_now(q);
	bool anew = t->described != q->naming + 1 || t->rules != rules;

	follow_stacks(t, sites, number);
	take_sums(q, t, number, anew);
	t->described = q->naming + 1;
	t->rules = rules;
	if (!q->passes || !t->at_samples.publications)
		growth_update(q, t);
	life_update(q, t);
	t->seen = q->stamp;
}

struct site_table *sites_update(struct query *q)
{
	do {
		query_now(q);
		if (table(q)->seen != q->stamp || q->sites->rules != expected_now(q))
			update(q, q->sites);
	} while (query_ask(q));
	return q->sites;
}
