/* SPDX-License-Identifier: MIT
 *
 * all.c - see processes/all.h. Of a file, members are read one after the other, and of each only
 * its numbers stay. While a tree runs, each process with a watch is a member; what it has new is
 * entered, and once a second the amounts of all are added up anew. What a closed watch had stays.
 */
#include "base/format.h"
#include "processes/all_state.h"

#include <stdlib.h>
#include <string.h>

#define NO_STACKS "[no stacks]"
#define EVERY_NS 1000000000ull
#define PACE_COSTS 10 /* at least so many times what the last one took lie between two */

/* --- a member's paths */

static void make_room(struct all *a)
{
	GROW(a->own, a->own_room, a->paths.nodes);
	GROW(a->weighed_bits, a->weighed_room, a->paths.nodes / 64 + 1ul);
}

static struct member *add_member(struct all *a, uint32_t id, struct watch *w)
{
	const struct model *m = watch_now(w);
	const struct program *g = model_program(m);

	GROW(a->members, a->room, a->count + 1);
	a->members[a->count] = (struct member){ .id = id,
						.watch = w,
						.resets = model_resets(m),
						.names = { .member = id },
						.named = UINT64_MAX,
						.first_epoch = g->forked ? g->first_epoch : 0,
						.stands_for = 1 };
	return &a->members[a->count++];
}

static void release_member(struct member *me)
{
	all_code_forget(&me->names);
	free(me->at);
	free(me->kept);
	free(me->holds_bits);
}

/* Its nodes come in the order of arrival, so parents come first. */
static void take_paths(struct all *a, struct member *me)
{
	const struct model *m = watch_now(me->watch);
	uint32_t count = model_dense_count(m);

	all_code_take(&a->code, &me->names, m);
	GROW(me->at, me->at_room, count + 1ul);
	for (; me->known < count; me->known++) {
		const struct node *n = model_dense(m, me->known, NULL);
		me->at[me->known] = me->known ? union_child(&a->paths, me->at[n->parent],
							    me->names.location[n->location])
					      : 0;
	}
	uint64_t named = symbols_generation(watch_symbols(me->watch));
	if (named != me->named)
		all_code_names(&a->code, &me->names, watch_symbols(me->watch));
	me->named = named;
	make_room(a);
}

/* --- amounts */

static uint64_t first_epoch_of(const struct all *a, uint32_t id, uint64_t otherwise)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id == id)
			return a->members[i].first_epoch;
	return otherwise;
}

/* Which of a member's slots count, by their epoch. */
struct counting {
	struct all *all;
	struct member *me;
	uint64_t from, own;
	bool held;
};

/*
 * What All counts of a slot. Slots before `from` belong to an older process. Those before `own`
 * are what is left of an ended parent, which counted the allocations: only their live part is
 * added, as less freed.
 */
static struct tally part_of(const struct counting *c, const struct tally *now, uint64_t epoch)
{
	struct tally t = { 0 };

	if (epoch >= c->own) {
		t = *now;
		if (!c->held) {
			t.free_blocks = t.alloc_blocks;
			t.free_bytes = t.alloc_bytes;
		}
	} else if (epoch >= c->from && c->held) {
		t.free_blocks = -live_blocks(now);
		t.free_bytes = -live_bytes(now);
	}
	return t;
}

static void add_slot(const struct counting *c, const struct kept_slot *s)
{
	struct tally t = part_of(c, &s->now, s->epoch);
	uint64_t bit = 1ull << s->node % 64;

	if (!(t.alloc_blocks | t.alloc_bytes | t.free_blocks | t.free_bytes))
		return;
	union_end(&c->all->paths, s->node);
	tally_add(&c->all->own[s->node], &t);
	if (live_blocks(&t))
		c->me->holds_bits[s->node / 64] |= bit;
	if (s->weighed)
		c->all->weighed_bits[s->node / 64] |= bit;
}

static struct kept_slot slot_of_member(const struct member *me, const struct model *m, uint32_t i)
{
	const struct slot *s = model_dense_slot(m, i);

	return (struct kept_slot){ .now = s->now,
				   .node = me->at[s->node],
				   .epoch = s->epoch,
				   .weighed = model_dense(m, s->node, NULL)->self_estimate };
}

static void add_amounts(struct all *a, struct member *me)
{
	struct line_share share = a->shares[me->id];
	uint64_t own = me->first_epoch;
	struct counting c = { a, me, share.with ? first_epoch_of(a, share.with, own) : 0, own,
			      share.held };
	const struct model *m = me->watch ? watch_now(me->watch) : NULL;

	free(me->holds_bits);
	me->nodes = a->paths.nodes;
	me->holds_bits = xcalloc(me->nodes / 64 + 1ul, sizeof *me->holds_bits);
	for (uint32_t i = 0; m && i < model_slot_count(m); i++) {
		struct kept_slot s = slot_of_member(me, m, i);
		add_slot(&c, &s);
	}
	for (size_t i = 0; i < me->kept_count; i++)
		add_slot(&c, &me->kept[i]);
}

static void add_figures(struct all *a, const struct model *m)
{
	const struct totals *t = model_totals(m);
	uint64_t events, bytes;

	a->totals.agent_memory_bytes += t->agent_memory_bytes;
	a->totals.agent_cpu_ns += t->agent_cpu_ns;
	a->totals.hook_ns += t->hook_ns;
	a->totals.hook_error_ns += t->hook_error_ns;
	a->totals.target_cpu_ns += t->target_cpu_ns;
	a->totals.agent_limit_bytes += t->agent_limit_bytes;
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		model_loss(m, i, &events, &bytes);
		a->loss_events[i] += events;
		a->loss_bytes[i] += bytes;
	}
}

/* A fork's clock is its parent's. */
static uint64_t clock_of(const struct processes *p, uint32_t id)
{
	const struct process *at = processes_find(p, id), *parent;

	for (size_t n = 0; n < p->count && at->forked; n++, at = parent)
		if (!(parent = processes_find(p, at->parent)))
			break;
	return at->forked ? 0 : at->begin_ns;
}

static void add_graph(struct all *a, const struct member *me)
{
	all_graph_add(&a->graph, watch_now(me->watch), processes_find(a->of, me->id),
		      clock_of(a->of, me->id), a->shares[me->id].with != 0);
}

/* An older agent's fork mixes what it inherited with its own. */
static bool has_paths(const struct model *m)
{
	const struct program *g = model_program(m);

	return g && model_ticks(m) && (!g->forked || g->inherits_apart);
}

/* --- the others */

static const struct member *member_of(const struct all *a, uint32_t id)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id == id)
			return &a->members[i];
	return NULL;
}

static bool is_other(void *arg, const struct line *l)
{
	return !member_of(arg, l->p.id);
}

static struct member *others_member(struct all *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (!a->members[i].id)
			return &a->members[i];
	GROW(a->members, a->room, a->count + 1);
	a->members[a->count] = (struct member){ 0 };
	return &a->members[a->count++];
}

static void count_others(struct all *a, size_t *holding, struct processes_sum *sum)
{
	lines_total(a->of, is_other, a, sum);
	a->others = sum->lines - sum->unfollowed;
	*holding = 0;
	for (uint32_t id = 1; id <= a->of->count; id++) {
		const struct line *l = lines_at(a->of, id);
		*holding += l && is_other(a, l) && a->shares[id].held && l->p.live_blocks;
	}
}

static void add_others(struct all *a)
{
	struct processes_sum sum;
	char name[64], n[FORMAT_NUMBER];
	size_t holding;

	count_others(a, &holding, &sum);
	struct tally *t = &sum.sum;
	if (!a->others && !t->alloc_blocks)
		return;
	if (a->others != a->others_named) {
		snprintf(name, sizeof name, "[no stacks: %s process%s]", format_count(n, a->others),
			 a->others == 1 ? "" : "es");
		a->others_location = all_code_made(&a->code, NO_STACKS, name);
		a->others_named = a->others;
	}
	uint32_t node = union_child(&a->paths, 0, a->others_location);
	make_room(a);
	union_end(&a->paths, node);
	if (t->alloc_blocks < sum.blocks.least)
		t->alloc_blocks = sum.blocks.least;
	if (t->alloc_bytes < sum.bytes.least)
		t->alloc_bytes = sum.bytes.least;
	t->free_blocks = t->alloc_blocks - sum.blocks.least;
	t->free_bytes = t->alloc_bytes - sum.bytes.least;
	a->own[node] = *t;
	struct member *me = others_member(a);
	free(me->holds_bits);
	me->nodes = node + 1;
	me->holds_bits = xcalloc(node / 64 + 1ul, sizeof *me->holds_bits);
	me->holds_bits[node / 64] |= 1ull << node % 64;
	me->stands_for = holding;
}

/* --- life */

static void know_shares(struct all *a)
{
	GROW(a->shares, a->shares_room, a->of->count + 1ul);
	lines_shares(a->of, a->shares);
}

static struct all *make(struct loop *loop, const struct processes *p, const char *text,
			const struct watch_options *o, struct err *err)
{
	const struct process *first = processes_find(p, 1);
	struct target t = { .kind = TARGET_MADE };

	if (!first) {
		err_set(err, 3, "%s: its first process is unknown", text);
		return NULL;
	}
	snprintf(t.text, sizeof t.text, "%.500s", text);
	snprintf(t.name, sizeof t.name, "%s", p->file ? p->file : "");
	struct all *a = xcalloc(1, sizeof *a);
	a->of = p;
	a->err = err;
	a->others_named = SIZE_MAX;
	union_init(&a->paths);
	make_room(a);
	a->code = (struct all_code){ .out = &a->out, .exe = first->path };
	know_shares(a);
	a->watch = watch_open(loop, &t, o, err);
	if (a->watch)
		all_frames_begin(a);
	if (!a->watch || a->out.rc) {
		all_free(a);
		return NULL;
	}
	return a;
}

void all_free(struct all *a)
{
	if (!a)
		return;
	watch_close(a->watch);
	for (size_t i = 0; i < a->count; i++)
		release_member(&a->members[i]);
	free(a->members);
	free(a->shares);
	free(a->own);
	free(a->weighed_bits);
	union_release(&a->paths);
	all_code_release(&a->code);
	all_graph_release(&a->graph);
	all_frames_release(a);
	free(a);
}

/* --- from a file */

static void note(struct all *a, const struct process *p, struct watch *w)
{
	const char *problem = watch_problem(w);
	char text[400];

	if (!problem)
		return;
	a->cut |= model_state(watch_now(w), NULL, NULL) == MTW_CUT;
	snprintf(text, sizeof text, "%s [%d]: %.300s", p->name, p->pid, problem);
	watch_note(a->watch, text);
}

static void read_member(struct all *a, uint32_t id, struct watch *w)
{
	struct member *me = add_member(a, id, w);

	take_paths(a, me);
	add_amounts(a, me);
	add_figures(a, watch_now(w));
	add_graph(a, me);
	all_code_forget(&me->names);
	free(me->at);
	me->at = NULL;
	me->watch = NULL;
}

static void read_members(struct all *a, struct loop *loop, const struct target *file,
			 const struct watch_options *o)
{
	for (uint32_t id = 1; id <= a->of->count && !a->out.rc; id++) {
		const struct process *p = processes_find(a->of, id);
		struct target t = *file;
		struct err err = { 0 };
		t.kind = TARGET_FILE;
		if (!p || !p->recorded || processes_target(a->of, id, &t, &err))
			continue;
		struct watch *w = watch_open(loop, &t, o, &err);
		if (w)
			note(a, p, w);
		if (w && has_paths(watch_now(w)))
			read_member(a, id, w);
		watch_close(w);
	}
}

struct all *all_of_file(struct loop *loop, const struct processes *p, const struct target *file,
			const struct watch_options *o, struct err *err)
{
	struct all *a = make(loop, p, file->text, o, err);

	if (!a)
		return NULL;
	read_members(a, loop, file, o);
	if (!a->count && !a->out.rc)
		a->out.rc = err_set(err, 3, "%s: has no call paths of any process", file->text);
	add_others(a);
	all_frames_tick(a);
	a->err = NULL;
	if (!a->out.rc)
		return a;
	all_free(a);
	return NULL;
}

/* --- while it runs */

static void drop_member(struct all *a, size_t i)
{
	release_member(&a->members[i]);
	a->members[i] = a->members[--a->count];
}

/* A process that executes a program has its watch on another line, with another model. */
static bool is_stale(const struct all *a, const struct member *me)
{
	const struct line *l = lines_at(a->of, me->id);

	if (!me->id || (!me->watch && l))
		return false;
	return !l || l->p.watch != me->watch || model_resets(watch_now(me->watch)) != me->resets;
}

static void find_members(struct all *a)
{
	for (size_t i = 0; i < a->count;)
		if (is_stale(a, &a->members[i]))
			drop_member(a, i);
		else
			i++;
	for (uint32_t id = 1; id <= a->of->count; id++) {
		const struct line *l = lines_at(a->of, id);
		if (l && l->p.watch && l->p.exact && l->p.state != PROCESS_EXECED &&
		    !member_of(a, id) && has_paths(watch_now(l->p.watch)) &&
		    model_complete(watch_now(l->p.watch)))
			add_member(a, id, l->p.watch);
	}
}

static void sum_up(struct all *a)
{
	struct totals *t = &a->totals;

	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].watch)
			take_paths(a, &a->members[i]);
	make_room(a);
	memset(a->own, 0, a->paths.nodes * sizeof *a->own);
	memset(a->loss_events, 0, sizeof a->loss_events);
	memset(a->loss_bytes, 0, sizeof a->loss_bytes);
	*t = (struct totals){ .time_ns = t->time_ns,
			      .peak_bytes = t->peak_bytes,
			      .peak_time_ns = t->peak_time_ns };
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		if (me->id)
			add_amounts(a, me);
		if (me->watch)
			add_figures(a, watch_now(me->watch));
		if (me->watch && !a->ticks)
			add_graph(a, me);
	}
	add_others(a);
}

static void make_again(struct all *a)
{
	struct err err = { 0 };
	uint64_t began = now_ns();

	a->err = &err;
	know_shares(a);
	find_members(a);
	sum_up(a);
	all_frames_tick(a);
	a->err = NULL;
	if (a->out.rc)
		watch_note(a->watch, err.text);
	a->made_ns = now_ns();
	a->cost_ns = a->made_ns - began;
}

struct all *all_of_tree(struct loop *loop, const struct processes *p, const struct watch_options *o,
			struct err *err)
{
	struct watch_options own = { .paced = o->paced,
				     .expected = o->expected,
				     .symbols = o->symbols };
	struct all *a = make(loop, p, "all processes", &own, err);

	if (!a)
		return NULL;
	a->live = true;
	make_again(a);
	return a;
}

void all_go_on(struct all *a)
{
	uint64_t since = now_ns() - a->made_ns;

	if (!a->live || a->out.rc || since < EVERY_NS || since < PACE_COSTS * a->cost_ns)
		return;
	if (watch_seen(a->watch))
		make_again(a);
}

void all_keep(struct all *a, const struct watch *w)
{
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		if (!w || me->watch != w)
			continue;
		const struct model *m = watch_now(me->watch);
		if (!is_stale(a, me)) {
			take_paths(a, me);
			me->kept_count = model_slot_count(m);
			GROW(me->kept, me->kept_room, me->kept_count + 1);
			for (uint32_t s = 0; s < me->kept_count; s++)
				me->kept[s] = slot_of_member(me, m, s);
		}
		me->watch = NULL;
	}
}

/* --- questions */

struct watch *all_watch(const struct all *a)
{
	return a->watch;
}

size_t all_members(const struct all *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		n += a->members[i].id != 0;
	return n;
}

size_t all_others(const struct all *a)
{
	return a->others;
}

static bool holds(const struct member *m, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] < m->nodes && bit_of(m->holds_bits, ids[i]))
			return true;
	return false;
}

size_t all_holders(const struct all *a, const uint32_t *ids, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		if (holds(&a->members[i], ids, count))
			n += a->members[i].stands_for;
	return n;
}
