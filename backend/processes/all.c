/* SPDX-License-Identifier: MIT
 *
 * all.c - see processes/all.h. Members are added one after the other, and of each only its numbers
 * stay. Then the session's frames are written once, as those of a program that has ended.
 */
#include "processes/all.h"

#include "base/format.h"
#include "heap/union.h"
#include "model/columns.h"
#include "processes/all_code.h"
#include "processes/all_graph.h"
#include "processes/internal.h"
#include "processes/lines.h"

#include <stdlib.h>
#include <string.h>

#define NO_STACKS "[no stacks]"

struct member {
	uint32_t id;          /* its line */
	uint64_t first_epoch; /* slots of earlier epochs have what it inherited */
	uint64_t *holds_bits; /* by node of the union: it has live blocks there; owned */
	uint32_t nodes;       /* below this */
	size_t stands_for;    /* processes */
};

struct all {
	const struct processes *of; /* borrowed */
	struct watch *watch;
	struct frames out;
	struct err *err; /* of the frame that was refused */
	struct all_code code;
	struct heap_union paths; /* keys: numbers of the code's locations */
	struct tally *own;       /* by node */
	uint64_t *weighed_bits;  /* by node: with a sampled share */
	size_t own_room, weighed_room;
	struct member *members;
	size_t count, room;
	size_t others;
	struct line_share *shares; /* by line */
	struct all_graph graph;
	struct totals totals;
	uint64_t loss_events[MTW_LOSS_COUNT], loss_bytes[MTW_LOSS_COUNT];
	bool cut;
};

static int feed(void *arg, uint64_t type, const uint8_t *payload, size_t len)
{
	struct all *a = arg;

	return watch_feed(a->watch, type, payload, len, a->err);
}

/* --- a member's amounts */

static void make_room(struct all *a)
{
	size_t was = a->own_room, bits_was = a->weighed_room;

	GROW(a->own, a->own_room, a->paths.nodes);
	memset(a->own + was, 0, (a->own_room - was) * sizeof *a->own);
	GROW(a->weighed_bits, a->weighed_room, a->paths.nodes / 64 + 1ul);
	memset(a->weighed_bits + bits_was, 0,
	       (a->weighed_room - bits_was) * sizeof *a->weighed_bits);
}

static uint64_t first_epoch_of(const struct all *a, uint32_t id, uint64_t otherwise)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id == id)
			return a->members[i].first_epoch;
	return otherwise;
}

/*
 * What All counts of a slot. Slots before `from` belong to an older process. Those before `own`
 * are what is left of an ended parent, which counted the allocations: only their live part is
 * added, as less freed.
 */
static struct tally part_of(const struct tally *now, uint64_t epoch, uint64_t from, uint64_t own,
			    bool held)
{
	struct tally t = { 0 };

	if (epoch >= own) {
		t = *now;
		if (!held) {
			t.free_blocks = t.alloc_blocks;
			t.free_bytes = t.alloc_bytes;
		}
	} else if (epoch >= from && held) {
		t.free_blocks = -live_blocks(now);
		t.free_bytes = -live_bytes(now);
	}
	return t;
}

static void add_slots(struct all *a, struct member *me, const struct columns *c, const uint32_t *at)
{
	struct line_share share = a->shares[me->id];
	uint64_t own = me->first_epoch, from = share.with ? first_epoch_of(a, share.with, own) : 0;

	for (uint32_t k = 0; k < c->skeleton->stacks; k++) {
		uint32_t node = at[c->skeleton->node_of_stack[k]];
		for (uint32_t s = c->first[k]; s < c->first[k + 1]; s++) {
			struct tally t = part_of(&c->now[s], c->epoch[s], from, own, share.held);
			if (!(t.alloc_blocks | t.alloc_bytes | t.free_blocks | t.free_bytes))
				continue;
			union_end(&a->paths, node);
			tally_add(&a->own[node], &t);
			if (live_blocks(&t))
				me->holds_bits[node / 64] |= 1ull << node % 64;
			if (bit_of(c->weighed_bits, s))
				a->weighed_bits[node / 64] |= 1ull << node % 64;
		}
	}
}

static void add_paths(struct all *a, struct member *me, const struct model *m,
		      const struct all_names *names)
{
	struct columns c;

	model_columns(m, &c);
	uint32_t *at = xmalloc((c.skeleton->nodes + 1ul) * sizeof *at);
	union_enter(&a->paths, c.skeleton, &(struct union_keys){ .keys = names->location }, NULL,
		    at);
	make_room(a);
	me->nodes = a->paths.nodes;
	me->holds_bits = xcalloc(me->nodes / 64 + 1ul, sizeof *me->holds_bits);
	add_slots(a, me, &c, at);
	free(at);
	columns_release(&c);
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

/* An older agent's fork mixes what it inherited with its own. */
static bool has_paths(const struct model *m)
{
	const struct program *g = model_program(m);

	return g && model_ticks(m) && (!g->forked || g->inherits_apart);
}

static void add_member(struct all *a, uint32_t id, struct watch *w)
{
	const struct model *m = watch_now(w);
	const struct program *g = model_program(m);
	struct all_names names = { .member = id };

	GROW(a->members, a->room, a->count + 1);
	struct member *me = &a->members[a->count++];
	*me = (struct member){ .id = id,
			       .first_epoch = g->forked ? g->first_epoch : 0,
			       .stands_for = 1 };
	all_code_take(&a->code, &names, m);
	all_code_names(&a->code, &names, watch_symbols(w));
	add_paths(a, me, m, &names);
	add_figures(a, m);
	all_graph_add(&a->graph, m, processes_find(a->of, id), clock_of(a->of, id),
		      a->shares[id].with != 0);
	all_code_forget(&names);
}

/* --- the others */

static bool is_other(void *arg, const struct line *l)
{
	const struct all *a = arg;

	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id == l->p.id)
			return false;
	return true;
}

static void add_others(struct all *a)
{
	struct processes_sum sum;
	char name[64], n[FORMAT_NUMBER];
	size_t holding = 0;

	lines_total(a->of, is_other, a, &sum);
	a->others = sum.lines - sum.unfollowed;
	for (uint32_t id = 1; id <= a->of->count; id++) {
		const struct line *l = lines_at(a->of, id);
		holding += l && is_other(a, l) && a->shares[id].held && l->p.live_blocks;
	}
	struct tally *t = &sum.sum;
	if (!a->others && !t->alloc_blocks)
		return;
	snprintf(name, sizeof name, "[no stacks: %s process%s]", format_count(n, a->others),
		 a->others == 1 ? "" : "es");
	uint32_t node = union_child(&a->paths, 0, all_code_made(&a->code, NO_STACKS, name));
	make_room(a);
	union_end(&a->paths, node);
	if (t->alloc_blocks < sum.blocks.least)
		t->alloc_blocks = sum.blocks.least;
	if (t->alloc_bytes < sum.bytes.least)
		t->alloc_bytes = sum.bytes.least;
	t->free_blocks = t->alloc_blocks - sum.blocks.least;
	t->free_bytes = t->alloc_bytes - sum.bytes.least;
	a->own[node] = *t;
	GROW(a->members, a->room, a->count + 1);
	a->members[a->count] = (struct member){
		.nodes = node + 1,
		.holds_bits = xcalloc(node / 64 + 1ul, sizeof(uint64_t)),
		.stands_for = holding,
	};
	a->members[a->count++].holds_bits[node / 64] |= 1ull << node % 64;
}

/* --- frames */

static void put_hello(struct all *a, const struct process *first)
{
	const uint64_t fields[] = { MTW_VERSION, 0, first->pid ? (uint64_t)first->pid : 1, 0, 0, 0,
				    0,           64 };

	frames_put_all(&a->out, fields, sizeof fields / sizeof *fields);
	frames_string(&a->out, "");
	frames_string(&a->out, *first->path ? first->path : first->name);
	frames_string(&a->out, "");
	frames_string(&a->out, "");
	frames_put(&a->out, 0);
	frames_end(&a->out, MTW_HELLO);
}

static void put_nodes(struct all *a)
{
	for (uint32_t n = 1; n < a->paths.nodes; n++) {
		const struct location *at = &a->code.locations[a->paths.node[n].location];
		frames_entry(&a->out, n);
		frames_value(&a->out, at->kind);
		frames_value(&a->out, a->paths.node[n].parent);
		if (at->kind <= MTW_NODE_SIGNAL)
			frames_value(&a->out, at->module);
		frames_value(&a->out, at->offset);
		if (frames_full(&a->out))
			frames_list(&a->out, MTW_NODES);
	}
	frames_list(&a->out, MTW_NODES);
}

/* Slots are numbered from 1, in the order of their nodes. */
static void each_slot(struct all *a, uint64_t type,
		      void (*put)(struct all *a, uint32_t node, uint32_t slot))
{
	uint32_t slot = 0;

	for (uint32_t n = 0; n < a->paths.nodes; n++) {
		if (!bit_of(a->paths.stack_bits, n))
			continue;
		put(a, n, ++slot);
		if (frames_full(&a->out))
			frames_list(&a->out, type);
	}
	frames_list(&a->out, type);
	a->totals.slots_total = a->totals.slots_sent = slot;
}

static void put_slot(struct all *a, uint32_t node, uint32_t slot)
{
	frames_entry(&a->out, slot);
	frames_value(&a->out, node);
	frames_value(&a->out, 0);
}

static void put_weighed(struct all *a, uint32_t node, uint32_t slot)
{
	if (!bit_of(a->weighed_bits, node))
		return;
	frames_entry(&a->out, slot);
	frames_value(&a->out, 1);
}

/* What an ended process left to others may be more than All knows to be allocated. */
static struct tally whole(struct tally t)
{
	if ((int64_t)t.free_blocks < 0) {
		t.alloc_blocks -= t.free_blocks;
		t.free_blocks = 0;
	}
	if ((int64_t)t.free_bytes < 0) {
		t.alloc_bytes -= t.free_bytes;
		t.free_bytes = 0;
	}
	return t;
}

static void put_counts(struct all *a, uint32_t node, uint32_t slot)
{
	struct tally t = whole(a->own[node]);

	frames_entry(&a->out, slot);
	frames_value(&a->out, t.alloc_blocks);
	frames_value(&a->out, t.alloc_bytes);
	frames_value(&a->out, t.free_blocks);
	frames_value(&a->out, t.free_bytes);
	tally_add(&a->totals.sum, &t);
}

static void put_losses(struct all *a)
{
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		frames_put(&a->out, i);
		frames_put(&a->out, a->loss_events[i]);
		frames_put(&a->out, a->loss_bytes[i]);
		frames_end(&a->out, MTW_LOSS);
	}
}

/* The resident memory of processes is no sum: they share pages. */
static void put_graph(struct all *a)
{
	struct point points[ALL_GRAPH_POINTS], peak = { 0 };
	size_t n = all_graph_sum(&a->graph, points, &peak);

	a->totals.peak_bytes = peak.live_bytes;
	a->totals.peak_time_ns = peak.time_ns;
	frames_put_all(&a->out, (uint64_t[]){ 0, 0 }, 2); /* interval, owners */
	for (size_t i = 0; i < n; i++) {
		const struct point *x = &points[i];
		frames_point(&a->out);
		frames_value(&a->out, x->time_ns);
		frames_value(&a->out, x->live_bytes);
		frames_value(&a->out, x->live_blocks);
		frames_value(&a->out, x->alloc_bytes);
		frames_value(&a->out, x->alloc_blocks);
		frames_value(&a->out, x->free_blocks);
		frames_value(&a->out, 0);
	}
	frames_list(&a->out, MTW_HISTORY);
}

static void put_totals(struct all *a)
{
	const struct totals *t = &a->totals;
	uint64_t live = live_bytes(&t->sum), peak = live > t->peak_bytes ? live : t->peak_bytes;
	const uint64_t fields[] = { t->time_ns,
				    t->sum.alloc_blocks,
				    t->sum.alloc_bytes,
				    t->sum.free_blocks,
				    t->sum.free_bytes,
				    peak,
				    0,
				    peak == live ? t->time_ns : t->peak_time_ns,
				    t->agent_memory_bytes,
				    t->agent_cpu_ns,
				    t->hook_ns,
				    t->target_cpu_ns,
				    t->slots_total,
				    t->slots_sent,
				    live,
				    t->agent_limit_bytes,
				    t->hook_error_ns,
				    0 };

	frames_put_all(&a->out, fields, sizeof fields / sizeof *fields);
	frames_end(&a->out, MTW_TOTALS);
}

static void put_end(struct all *a, const struct process *first, bool running)
{
	bool killed = first->state == PROCESS_SIGNALLED;
	bool ended = !running && !a->cut;

	if (ended) {
		frames_put_all(&a->out,
			       (uint64_t[]){ killed ? MTW_SIGNALLED : MTW_EXITED,
					     (uint64_t)first->status, a->totals.time_ns,
					     first->status_known },
			       4);
		frames_end(&a->out, MTW_STATE);
	}
	frames_put_all(&a->out,
		       (uint64_t[]){ 1, a->totals.time_ns,
				     MTW_TICK_COMPLETE | (ended ? MTW_TICK_FINAL : 0) },
		       3);
	frames_end(&a->out, MTW_TICK);
}

static void put_all(struct all *a, const struct process *first)
{
	struct processes_sum sum;

	processes_total(a->of, &sum);
	a->totals.time_ns = processes_time_ns(a->of);
	put_losses(a);
	put_graph(a);
	put_nodes(a);
	each_slot(a, MTW_SLOTS, put_slot);
	each_slot(a, MTW_WEIGHED, put_weighed);
	each_slot(a, MTW_COUNTS, put_counts);
	put_totals(a);
	put_end(a, first, sum.running > 0);
	watch_fed(a->watch);
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

static void read_members(struct all *a, struct loop *loop, const struct target *file,
			 const struct watch_options *o)
{
	for (uint32_t id = 1; id <= a->of->count && !a->out.rc; id++) {
		const struct process *p = processes_find(a->of, id);
		struct target t = *file;
		struct err err = { 0 };
		if (!p || !p->recorded || processes_target(a->of, id, &t, &err))
			continue;
		struct watch *w = watch_open(loop, &t, o, &err);
		if (w)
			note(a, p, w);
		if (w && has_paths(watch_now(w)))
			add_member(a, id, w);
		watch_close(w);
	}
}

struct all *all_of_file(struct loop *loop, const struct processes *p, const struct target *file,
			const struct watch_options *o, struct err *err)
{
	const struct process *first = processes_find(p, 1);
	struct target t = { .kind = TARGET_MADE };

	snprintf(t.text, sizeof t.text, "%.500s", file->text);

	if (!first) {
		err_set(err, 3, "%s: its first process is unknown", file->text);
		return NULL;
	}
	struct all *a = xcalloc(1, sizeof *a);
	a->of = p;
	a->err = err;
	frames_init(&a->out, feed, a);
	union_init(&a->paths);
	make_room(a);
	a->code = (struct all_code){ .out = &a->out, .exe = first->path };
	a->shares = xcalloc(p->count + 1ul, sizeof *a->shares);
	lines_shares(p, a->shares);
	a->watch = watch_open(loop, &t, o, err);
	if (a->watch) {
		put_hello(a, first);
		read_members(a, loop, file, o);
		if (!a->count && !a->out.rc)
			a->out.rc =
				err_set(err, 3, "%s: has no call paths of any process", file->text);
		add_others(a);
		put_all(a, first);
	}
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
		free(a->members[i].holds_bits);
	free(a->members);
	free(a->shares);
	free(a->own);
	free(a->weighed_bits);
	union_release(&a->paths);
	all_code_release(&a->code);
	all_graph_release(&a->graph);
	frames_release(&a->out);
	free(a);
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
