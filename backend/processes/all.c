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
	all_marks_forget(me);
	all_samples_forget(me);
	free(me->at);
	free(me->kept);
	free(me->holds_bits);
	free(me->order_bits);
	free(me->to);
	free(me->lives);
}

/* Parents come first, in the order of arrival as in the call tree's; what is known stays. */
static void take_paths(struct all *a, struct member *me)
{
	const struct model *m = watch_now(me->watch);
	const struct skeleton *s = model_columns(m)->skeleton;
	uint32_t *at = me->known < s->nodes ? xcalloc(s->nodes, sizeof *at) : NULL; /* by node */

	all_code_take(&a->code, &me->names, m);
	GROW(me->at, me->at_room, s->nodes + 1ul);
	for (uint32_t i = 0; at && i < me->known; i++)
		at[s->node_of[i]] = me->at[i];
	for (; me->known < s->nodes; me->known++) {
		uint32_t n = s->node_of[me->known];
		at[n] = n ? union_child(&a->paths, at[s->parent[n]],
					me->names.location[s->location[n]])
			  : 0;
		me->at[me->known] = at[n];
	}
	free(at);
	uint64_t named = symbols_generation(watch_symbols(me->watch));
	if (named != me->named)
		all_code_names(&a->code, &me->names, watch_symbols(me->watch));
	me->named = named;
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

/* An older agent's fork mixes what it inherited with its own. */
static bool has_paths(const struct model *m)
{
	const struct program *g = model_program(m);

	return g && model_ticks(m) && (!g->forked || g->inherits_apart);
}

static void add_amounts(struct all *a, struct member *me)
{
	all_slots_add(a, me);
	all_samples_place(a, me);
}

static bool is_other(void *arg, const struct line *l)
{
	return !all_member_of(arg, l->p.id);
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
	uint32_t slot = all_slots_for(a, node, 0);
	if (t->alloc_blocks < sum.blocks.least)
		t->alloc_blocks = sum.blocks.least;
	if (t->alloc_bytes < sum.bytes.least)
		t->alloc_bytes = sum.bytes.least;
	t->free_blocks = t->alloc_blocks - sum.blocks.least;
	t->free_bytes = t->alloc_bytes - sum.bytes.least;
	a->slots[slot].now = *t;
	a->others_slot = slot + 1;
	struct member *me = others_member(a);
	free(me->holds_bits);
	me->nodes = node + 1;
	me->holds_bits = xcalloc(node / 64 + 1ul, sizeof *me->holds_bits);
	me->holds_bits[node / 64] |= 1ull << node % 64;
	me->stands_for = holding;
}

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
	a->placings = 1;
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
	all_holders_release(a);
	watch_close(a->watch);
	for (size_t i = 0; i < a->count; i++)
		release_member(&a->members[i]);
	free(a->members);
	free(a->shares);
	free(a->slots);
	map_release(&a->slot_of);
	free(a->marks);
	union_release(&a->paths);
	all_code_release(&a->code);
	all_graph_release(&a->graph);
	all_frames_release(a);
	free(a);
}

struct watch *all_take_watch(struct all *a)
{
	struct watch *w = a ? a->watch : NULL;

	if (a)
		a->watch = NULL;
	all_free(a);
	return w;
}

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

/* Before its watch is closed. */
static void keep(struct member *me)
{
	const struct columns *c = all_columns(me);
	size_t count = all_slots_of(me, c);

	all_marks_keep(me);
	GROW(me->kept, me->kept_room, count + 1);
	for (uint32_t s = 0; s < count; s++)
		me->kept[s] = all_slot_of(me, c, s);
	me->kept_count = count;
}

static void read_member(struct all *a, uint32_t id, struct watch *w, bool again)
{
	struct member *me = add_member(a, id, w);

	take_paths(a, me);
	all_marks_take(a, me);
	add_figures(a, watch_now(w));
	all_member_graph(a, me, &a->graph);
	all_samples_take(a, me);
	if (again)
		keep(me);
	else
		add_amounts(a, me);
	if (!again)
		all_holders_keep(a, me);
	all_code_forget(&me->names);
	free(me->at);
	free(me->to);
	me->at = me->to = NULL;
	me->placed = 0;
	me->to_room = 0;
	me->watch = NULL;
}

static void read_members(struct all *a, struct loop *loop, const struct target *file,
			 const struct watch_options *o, bool again)
{
	for (uint32_t id = 1; id <= a->of->count && !a->out.rc; id++) {
		const struct process *p = processes_find(a->of, id);
		struct target t = *file;
		struct err err = { 0 };
		t.kind = TARGET_FILE;
		if (!p || !p->recorded || processes_target(a->of, id, &t, &err))
			continue;
		struct watch *w = watch_open(loop, &t, o, &err);
		if (w && !again)
			note(a, p, w);
		if (w && has_paths(watch_now(w)))
			read_member(a, id, w, again);
		watch_close(w);
	}
}

/* To which epochs slots belong is known when the marks of all members are, so they are read again.
 * Without marks there is one epoch, and no member's slots must be kept. */
static void read_again(struct all *a, struct loop *loop, const struct target *file,
		       const struct watch_options *o)
{
	while (a->count)
		release_member(&a->members[--a->count]);
	map_clear(&a->slot_of);
	a->slot_count = 0;
	memset(a->loss_events, 0, sizeof a->loss_events);
	memset(a->loss_bytes, 0, sizeof a->loss_bytes);
	a->totals = (struct totals){ 0 };
	all_graph_release(&a->graph);
	a->graph = (struct all_graph){ 0 };
	read_members(a, loop, file, o, true);
	all_marks_gather(a);
	for (size_t i = 0; i < a->count; i++)
		add_amounts(a, &a->members[i]);
}

struct all *all_of_file(struct loop *loop, const struct processes *p, const struct target *file,
			const struct watch_options *o, struct err *err)
{
	struct all *a = make(loop, p, file->text, o, err);

	if (!a)
		return NULL;
	read_members(a, loop, file, o, false);
	all_marks_gather(a);
	if (a->mark_count && !a->out.rc)
		read_again(a, loop, file, o);
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
		    !all_member_of(a, id) && has_paths(watch_now(l->p.watch)) &&
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
	all_marks_gather(a);
	for (uint32_t i = 0; i < a->slot_count; i++)
		a->slots[i].now = (struct tally){ 0 };
	memset(a->loss_events, 0, sizeof a->loss_events);
	memset(a->loss_bytes, 0, sizeof a->loss_bytes);
	*t = (struct totals){ .time_ns = t->time_ns,
			      .peak_bytes = t->peak_bytes,
			      .peak_time_ns = t->peak_time_ns };
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		if (me->id) {
			all_samples_take(a, me);
			add_amounts(a, me);
		}
		if (me->watch)
			add_figures(a, watch_now(me->watch));
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

/* A mark came: somebody waits for it. */
static bool marked(const struct all *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].watch &&
		    model_marks_generation(watch_now(a->members[i].watch)) + 1 !=
			    a->members[i].marks_generation)
			return true;
	return false;
}

void all_go_on(struct all *a)
{
	uint64_t since = now_ns() - a->made_ns;

	if (!a->live || a->out.rc || since < PACE_COSTS * a->cost_ns ||
	    (since < EVERY_NS && !marked(a)))
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
		if (!is_stale(a, me)) {
			take_paths(a, me);
			all_marks_take(a, me);
			all_member_graph(a, me, &a->graph);
			all_samples_take(a, me);
			keep(me);
		}
		me->watch = NULL;
	}
}

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
