/* SPDX-License-Identifier: MIT
 *
 * sites.c - call sites: stacks joined by the function that allocates.
 *
 * A stack's site is its innermost frame that is no allocation wrapper (owners/owner.h). Each
 * stack's site and the sums are kept: differences are added as they arrive, and a stack whose site
 * changes when names arrive takes its amounts along.
 */
#include "query/sites/sites.h"
#include "query/sites/expected_sites.h"
#include "query/steps.h"

#include <stdlib.h>
#include <string.h>

#define DESCRIBE_STEPS 8u
#define EXACT_STACKS 4096u /* with more, the heaviest is looked for again only when it halved */

static struct query_site *new_site(struct site_table *t, uint32_t fn)
{
	struct query_site *s = xcalloc(1, sizeof *s);

	GROW(t->sites, t->room, t->count + 1);
	t->sites[t->count++] = s;
	s->pub.id = (uint32_t)t->count;
	t->version++;
	map_set(&t->by_fn, fn, s->pub.id);
	return s;
}

static void forget(struct site_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->sites[i]->net);
		for (size_t k = 0; k < AT_COUNT; k++) {
			free(t->sites[i]->held[k].at);
			free(t->sites[i]->held[k].next);
		}
		free(t->sites[i]);
	}
	t->count = t->order_count = t->sample_count = t->out_count = t->row_count = 0;
	t->verdict = (struct verdict){ 0 };
	t->growth = (struct growth){ 0 };
	memset(t->flow, 0, sizeof t->flow);
	t->shaped = 0;
	site_marks_forget(&t->at_samples);
	site_marks_forget(&t->at_ends);
	map_clear(&t->by_fn);
	if (t->node_room)
		memset(t->of_node, 0, t->node_room * sizeof *t->of_node);
}

void sites_free(struct query *q)
{
	struct site_table *t = q->sites;

	if (!t)
		return;
	forget(t);
	map_release(&t->by_fn);
	free(t->sites);
	free(t->of_node);
	free(t->next);
	free(t->prev);
	free(t->out);
	free(t->order);
	free(t->rows);
	free(t);
	q->sites = NULL;
}

/* A stack whose name arrived moves to that name's site, which counts its past amounts at samples
 * again. */
static void stack_moves(struct query_site *to, struct query_site *from)
{
	to->moved = from->moved = true;
}

static uint32_t fn_of_site(struct query *q, uint32_t index)
{
	uint32_t frame, site = owners_site_of_index(q->o, index, &frame);
	const struct name_loc *l = names_loc(q->n, names_loc_of(q->n, site));
	return l->frames[frame < l->count ? frame : 0].fn;
}

static uint32_t site_of(struct query *q, struct site_table *t, uint32_t index)
{
	uint32_t fn = fn_of_site(q, index), number = map_get(&t->by_fn, fn, 0);

	return number ? number : new_site(t, fn)->pub.id;
}

static void take_heavy(struct query *q, struct query_site *s, uint32_t index, uint64_t live)
{
	s->describe |= s->heavy != index;
	s->heavy = index;
	s->most = live;
	model_dense(q->m, index, &s->pub.leaf);
}

/* Among stacks with equal amounts the agent's first one wins: the same for every viewer,
 * whatever the order of arrival. */
static bool comes_before(struct query *q, uint64_t live, uint32_t index, uint64_t most,
			 uint32_t best)
{
	uint32_t id, best_id;

	if (live != most)
		return live > most;
	model_dense(q->m, index, &id);
	model_dense(q->m, best, &best_id);
	return id < best_id;
}

static void link_stack(struct query *q, struct site_table *t, uint32_t index, uint32_t number)
{
	struct query_site *s = t->sites[number - 1];

	t->linked++;
	t->of_node[index] = number;
	t->next[index] = s->first;
	t->prev[index] = 0;
	if (s->first)
		t->prev[s->first] = index;
	s->first = index;
	if (!s->pub.stacks++ || comes_before(q, 0, index, s->most, s->heavy))
		take_heavy(q, s, index, 0);
}

static void unlink_stack(struct site_table *t, uint32_t index)
{
	struct query_site *s = t->sites[t->of_node[index] - 1];

	if (s->look_at == index)
		s->look_at = t->next[index];
	if (t->prev[index])
		t->next[t->prev[index]] = t->next[index];
	else
		s->first = t->next[index];
	if (t->next[index])
		t->prev[t->next[index]] = t->prev[index];
	t->of_node[index] = 0;
	s->pub.stacks--;
	s->look |= s->heavy == index;
}

static uint64_t live_of_stack(struct query *q, uint32_t index)
{
	struct tally self;

	if (filter_on(q))
		return live_bytes(&filter_self(q, index)->sum);
	self = model_self(q->m, model_dense(q->m, index, NULL));
	return live_bytes(&self);
}

/* A stack's amount changed, perhaps upwards: is another stack the site's heaviest now? */
static void weigh(struct query *q, struct query_site *s, uint32_t index, bool more)
{
	if (index != s->heavy && !more)
		return;
	uint64_t live = live_of_stack(q, index);
	if (index == s->heavy) {
		s->look |= live < s->most && s->pub.stacks > 1 &&
			   (s->pub.stacks <= EXACT_STACKS || live < s->most / 2);
		s->most = live > s->most || s->pub.stacks == 1 ? live : s->most;
	} else if (comes_before(q, live, index, s->most, s->heavy)) {
		take_heavy(q, s, index, live);
	}
}

/* With very many stacks each call checks only some, `left` over all sites, and keeps the
 * heaviest until a heavier one is found. */
static void find_heavy(struct query *q, const struct site_table *t, struct query_site *s,
		       size_t *left)
{
	uint32_t best = t->of_node[s->heavy] == s->pub.id ? s->heavy : s->first,
		 i = s->look_at ? s->look_at : s->first;

	s->look = false;
	s->look_at = 0;
	if (!s->first)
		return;
	uint64_t most = live_of_stack(q, best);
	for (; i && *left; i = t->next[i], --*left) {
		uint64_t live = live_of_stack(q, i);
		if (comes_before(q, live, i, most, best)) {
			most = live;
			best = i;
		}
	}
	s->look_at = i;
	s->look = i != 0;
	take_heavy(q, s, best, most);
}

void sites_stale(struct query *q, bool only_moved)
{
	struct site_table *t = q->sites;

	if (t && only_moved && !t->stale && t->at < model_dense_count(q->m))
		t->moved = true; /* to the end first, or names that keep coming never let it end */
	else if (t)
		t->stale = true;
}

uint32_t sites_left(const struct query *q)
{
	uint32_t count = model_dense_count(q->m);

	return q->sites && q->sites->at < count ? count - q->sites->at : 0;
}

static void fit(struct query *q, struct site_table *t)
{
	size_t count = model_dense_count(q->m);

	GROW_UNTOUCHED(t->of_node, t->node_room, count);
	GROW_UNTOUCHED(t->next, t->next_room, count);
	GROW_UNTOUCHED(t->prev, t->prev_room, count);
}

void sites_expect(const struct query *q, uint32_t index, bool near)
{
	const struct site_table *t = q->sites;

	if (!t || index >= t->node_room)
		return;
	if (!near) {
		__builtin_prefetch(&t->of_node[index]);
		return;
	}
	uint32_t number = t->of_node[index];
	const struct query_site *s = number ? t->sites[number - 1] : NULL;
	for (size_t at = offsetof(struct query_site, passed);
	     s && at <= offsetof(struct query_site, most); at += 64)
		__builtin_prefetch((const char *)s + at, 1);
}

void sites_add_value(struct query *q, uint32_t index, const struct amounts *raw,
		     const struct amounts *v)
{
	struct site_table *t = q->sites;

	if (!t || t->stale || index >= t->at)
		return;
	fit(q, t);
	if (!t->of_node[index]) {
		if (!model_self(q->m, model_dense(q->m, index, NULL)).alloc_blocks)
			return;
		link_stack(q, t, index, site_of(q, t, index));
	}
	struct query_site *s = t->sites[t->of_node[index] - 1];
	amounts_add(&s->passed, v);
	amounts_add(&s->all, raw);
	if (live_bytes(&raw->sum) | live_bytes(&v->sum))
		weigh(q, s, index,
		      (int64_t)live_bytes(&raw->sum) > 0 || (int64_t)live_bytes(&v->sum) > 0);
}

void sites_move(struct query *q, uint32_t index)
{
	struct site_table *t = q->sites;

	if (!t || t->stale || index >= t->at)
		return;
	fit(q, t);
	uint32_t before = t->of_node[index], number = before ? site_of(q, t, index) : 0;
	if (number == before)
		return;
	struct query_site *from = t->sites[before - 1], *to = t->sites[number - 1];
	struct amounts v = *filter_self(q, index), raw;
	amounts_of_node(q->m, model_dense(q->m, index, NULL), false, &raw);
	stack_moves(to, from);
	unlink_stack(t, index);
	amounts_sub(&from->passed, &v);
	amounts_sub(&from->all, &raw);
	link_stack(q, t, index, number);
	amounts_add(&to->passed, &v);
	amounts_add(&to->all, &raw);
	weigh(q, to, index, true);
	t->version++;
}

/* The caller of frame `frame` of a node: the nearest one that is no mere wrapper (make_shared,
 * emplace), or else just the next. */
static const char *caller_of(struct query *q, const struct node *n, uint32_t frame)
{
	const struct name_loc *l = names_loc(q->n, names_loc_of(q->n, n->index));
	const char *next = NULL;

	for (;; frame = 0) {
		for (uint32_t i = frame; i < l->count; i++) {
			if (names_tells(q->n, l->frames[i].fn))
				return names_fn(q->n, l->frames[i].fn)->name;
			if (!next)
				next = names_fn(q->n, l->frames[i].fn)->name;
		}
		if (n->parent == NO_ID || n->parent == 0)
			return next;
		n = model_dense(q->m, n->parent, NULL);
		l = names_loc(q->n, names_loc_of(q->n, n->index));
	}
}

/* "call site < caller", place and owner, from the stack that holds most. */
static void describe(struct query *q, struct query_site *s)
{
	uint32_t frame, site = owners_site(q->o, s->pub.leaf, &frame);
	const struct node *n = model_node(q->m, site);
	const struct name_loc *l = names_loc(q->n, names_loc_of(q->n, n->index));
	const struct name_frame *f = &l->frames[frame < l->count ? frame : 0];

	s->pub.name = names_fn(q->n, f->fn)->name;
	s->pub.function = names_fn(q->n, f->fn)->function;
	s->pub.file = f->file;
	s->pub.line = f->line;
	s->pub.module = l->module;
	s->pub.owner = owners_of_node(q->o, s->pub.leaf);
	s->pub.caller = caller_of(q, n, frame + 1);
	s->pub.flags =
		(s->pub.flags & ROW_ZERO) | (query_expected(q, s->pub.leaf) ? ROW_EXPECTED : 0);
	s->pub.flags |=
		l->source == SYMBOL_PENDING && l->kind != MTW_NODE_TRUNCATED ? ROW_PENDING : 0;
	s->pub.flags |= l->kind == MTW_NODE_TRUNCATED ? ROW_TRUNCATED : 0;
}

static void start_sums(struct query *q, struct site_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct query_site *s = t->sites[i];
		s->passed = s->all = (struct amounts){ 0 };
		s->most = 0;
		s->pub.stacks = s->first = s->heavy = s->look_at = 0;
		s->look = false;
	}
	t->stale = t->moved = false;
	t->version++;
	t->at = 1;
	fit(q, t);
}

static void sum_stack(struct query *q, struct site_table *t, uint32_t i)
{
	const struct node *n = model_dense(q->m, i, NULL);
	uint32_t before = t->of_node[i];

	t->of_node[i] = 0;
	struct amounts raw;
	amounts_of_node(q->m, n, false, &raw);
	if (!raw.sum.alloc_blocks)
		return;
	uint32_t number = site_of(q, t, i);
	struct query_site *s = t->sites[number - 1];
	if (before && before != number)
		stack_moves(s, t->sites[before - 1]);
	link_stack(q, t, i, number);
	amounts_add(&s->passed, filter_self(q, i));
	amounts_add(&s->all, &raw);
	weigh(q, s, i, true);
}

/* Recomputes all sums. */
static bool sum_up(struct query *q, struct site_table *t)
{
	uint32_t count = model_dense_count(q->m);

	if (t->stale)
		start_sums(q, t);
	fit(q, t);
	for (; t->at < count; t->at++) {
		if (t->at % NODES_A_STEP == 0 && !take_step(q))
			return false;
		sum_stack(q, t, t->at);
	}
	return true;
}

/* CHURN = allocated - |NET|, in the window. */
static uint64_t churn_of(const struct rate *r)
{
	uint64_t net = r->bytes > r->freed ? r->bytes - r->freed : r->freed - r->bytes;

	return r->bytes > net ? r->bytes - net : 0;
}

static void publish_rates(struct query *q, struct query_site *s)
{
	s->pub.churn_known = model_window(q->m) != 0;
	s->pub.churn_bytes = (uint64_t)model_per_second(q->m, churn_of(&s->passed.rate));
}

static void publish(struct query *q, const struct site_table *t, struct query_site *s,
		    size_t *looks)
{
	if (s->look)
		find_heavy(q, t, s, looks);
	/* else: at the next tick */
	q->unfinished |= s->look && (model_final(q->m) || model_state(q->m, NULL, NULL) == MTW_CUT);
	s->pub.amounts = s->passed;
	publish_rates(q, s);
	if (s->pub.stacks && s->describe)
		describe(q, s);
	s->describe = false;
	s->pub.flags &= ~(unsigned)ROW_ZERO;
	s->pub.flags |= amounts_zero_flag(q->m, &s->passed);
}

/* Did names arrive since the sites were described, and are no more expected soon? */
static bool renamed(const struct query *q, const struct site_table *t)
{
	return t->names != names_version(q->n) && !steps_wait_for_names(q, t->described_ns);
}

/* New names concern few sites, but finding these costs as much as describing all. */
static void describe_all(struct query *q, struct site_table *t)
{
	/* A pass that began with older names continues, except for what is printed. */
	if ((t->described >= t->count || q->allowed == SIZE_MAX) &&
	    (renamed(q, t) || t->rules != expected_now(q))) {
		t->names = names_version(q->n);
		t->rules = expected_now(q);
		t->described = 0;
	}
	if (t->described >= t->count)
		return;
	for (; t->described < t->count; t->described++) {
		struct query_site *s = t->sites[t->described];
		if (!take_step(q))
			return;
		spend_steps(q, DESCRIBE_STEPS);
		if (s->pub.stacks)
			describe(q, s);
	}
	t->described_ns = now_ns();
}

static struct site_table *table(struct query *q)
{
	struct site_table *t = q->sites;

	if (!t) {
		t = q->sites = xcalloc(1, sizeof *t);
		t->at_ends.which = AT_INTERVALS;
		t->resets = q->resets;
		t->stale = true;
	}
	if (t->resets != q->resets) {
		forget(t);
		t->resets = q->resets;
		t->stale = true;
	}
	return t;
}

struct site_table *sites_update(struct query *q, bool ready)
{
	struct site_table *t = table(q); /* a new state may have forgotten all of it */

	if (!ready)
		return NULL;
	if (t->seen == q->changes && !t->stale && !t->moved && !t->at_samples.walking &&
	    !sites_left(q) && t->described >= t->count && t->rules == expected_now(q) &&
	    !t->looking && !renamed(q, t))
		return t;
	if (!sum_up(q, t))
		return NULL;
	if (t->moved) { /* good to look at, but once more */
		t->stale = true;
		if (q->allowed == SIZE_MAX)
			sum_up(q, t);
		else
			q->unfinished = true;
	}
	t->seen = q->changes;
	if (!q->passes || !t->at_samples.publications)
		growth_update(q, t);
	life_update(q, t);
	describe_all(q, t);
	size_t looks = q->allowed == SIZE_MAX ? SIZE_MAX : EXACT_STACKS;
	t->looking = false;
	for (size_t i = 0; i < t->count; i++) { /* another is the first to look each time */
		struct query_site *s = t->sites[(i + q->changes) % t->count];
		publish(q, t, s, &looks);
		t->looking |= s->look;
	}
	return t;
}
