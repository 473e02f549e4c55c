/* SPDX-License-Identifier: MIT
 *
 * interval.c - the interval over which changes are counted, and the changes between two marks.
 *
 * The live amounts at a mark are put together from the chain of marks (model/history/marks.c), and
 * each slot's gain or loss is added to all nodes above it: two passes over everything. In slices
 * (model_go_on()) the new interval is built beside the current one, after a running tick and before
 * the next, so that nothing moves meanwhile. Then it replaces the current one at once. The interval
 * from the start to now needs no work.
 */
#include "model/internal.h"

#include <stdlib.h>

bool model_mark_says(const struct model *m, uint32_t mark)
{
	if (!mark)
		return true;
	return mark < m->marks.limit && mark_in_chain(&m->marks.list[mark]) &&
	       mark <= model_marks_whole(m);
}

uint32_t model_marks_whole(const struct model *m)
{
	uint32_t id = 0;

	while (id + 1 < m->marks.limit &&
	       (!mark_in_chain(&m->marks.list[id + 1]) || m->marks.list[id + 1].live_known))
		id++;
	return id;
}

uint64_t model_marks_chain(const struct model *m)
{
	return m->marks.chain;
}

/* --- live of every slot, by dense index, at a mark that can say */

static void live_start(const struct model *m, struct live_job *l, uint32_t mark)
{
	*l = (struct live_job){ .mark = mark,
				.at = 1,
				.live = mark ? xcalloc(m->trie.slot_count, sizeof *l->live)
					     : NULL };
}

/* Applies the cells. False: time is up. */
static bool live_go_on(const struct model *m, struct live_job *l, uint64_t end_ns)
{
	size_t seen = 0;

	for (; l->at <= l->mark; l->at++, l->cell = 0) {
		const struct mark *k = &m->marks.list[l->at];
		for (; mark_in_chain(k) && l->cell < k->cells.count; l->cell++) {
			const struct mark_cell *c = &k->cells.list[l->cell];
			if (time_is_up(seen++, end_ns))
				return false;
			l->live[idmap_get(&m->trie.slot_ids, c->slot)] =
				(struct live){ c->blocks, c->bytes };
		}
	}
	return true;
}

/* A slot born after the mark was not alive at it, whatever the cells say. */
static struct live live_of_slot(const struct model *m, const struct live_job *l, uint32_t index,
				struct live otherwise)
{
	if (!l->mark)
		return otherwise;
	if (slot_at(&m->trie, index)->epoch > m->marks.list[l->mark].epoch)
		l->live[index] = (struct live){ 0, 0 };
	return l->live[index];
}

static struct change slot_moved(const struct model *m, const struct live_job *from,
				const struct live_job *to, uint32_t index)
{
	struct live a = live_of_slot(m, from, index, (struct live){ 0, 0 });
	struct live b = live_of_slot(m, to, index, live_of(&slot_at(&m->trie, index)->now));

	return change_between(a.blocks, a.bytes, b.blocks, b.bytes);
}

int model_between(const struct model *m, uint32_t from, uint32_t to,
		  void (*fn)(void *arg, uint32_t slot, const struct change *c), void *arg)
{
	struct live_job a, b;

	if (!model_mark_says(m, from) || !model_mark_says(m, to))
		return -1;
	live_start(m, &a, from);
	live_start(m, &b, to);
	live_go_on(m, &a, UINT64_MAX);
	live_go_on(m, &b, UINT64_MAX);
	for (uint32_t i = 0; i < m->trie.slot_count; i++) {
		struct change c = slot_moved(m, &a, &b, i);
		if (c.born_blocks | c.born_bytes | c.gone_blocks | c.gone_bytes)
			fn(arg, slot_at(&m->trie, i)->id, &c);
	}
	free(a.live);
	free(b.live);
	return 0;
}

static void walk_start(const struct model *m, struct mark_walk *w)
{
	uint32_t slots = m->trie.slot_count;

	if (w->held && w->slots == slots)
		return;
	w->held = xrealloc(w->held, (slots + 1u) * sizeof *w->held);
	memset(w->held + w->slots, 0, (slots + 1u - w->slots) * sizeof *w->held);
	w->slots = slots;
}

/* number: passed to fn. epoch: slots born after it were not alive. */
static bool walk_cells(const struct model *m, struct mark_walk *w, const struct mark_cells *k,
		       uint32_t number, uint64_t epoch, mark_walk_fn fn, void *arg)
{
	while (w->cell < k->count) {
		const struct mark_cell *c = &k->list[w->cell++];
		uint32_t index = idmap_get(&m->trie.slot_ids, c->slot);
		if (index >= w->slots)
			continue; /* younger than the walk, and so than the instants */
		const struct slot *s = slot_at(&m->trie, index);
		struct live *held = &w->held[index], was = *held;
		*held = s->epoch > epoch ? (struct live){ 0, 0 }
					 : (struct live){ c->blocks, c->bytes };
		if (!fn(arg, number, s, &was, held))
			return false;
	}
	w->cell = 0;
	w->mark++;
	return true;
}

bool mark_walk(const struct model *m, struct mark_walk *w, uint32_t last, mark_walk_fn fn,
	       void *arg)
{
	static const struct mark_cells none;

	walk_start(m, w);
	w->mark += !w->mark; /* marks are counted from 1 */
	while (w->mark <= last && w->mark < m->marks.limit) {
		const struct mark *k = &m->marks.list[w->mark];
		if (!walk_cells(m, w, mark_in_chain(k) ? &k->cells : &none, w->mark, k->epoch, fn,
				arg))
			return false;
	}
	return true;
}

bool sample_walk(const struct model *m, struct mark_walk *w, mark_walk_fn fn, void *arg)
{
	walk_start(m, w);
	while (w->mark < m->samples.count) {
		const struct sample *k = &m->samples.list[w->mark];
		if (!walk_cells(m, w, &k->cells, k->f.serial, UINT64_MAX, fn, arg))
			return false;
	}
	return true;
}

void mark_walk_end(struct mark_walk *w)
{
	free(w->held);
	*w = (struct mark_walk){ 0 };
}

/* --- the interval in force */

/* Adds the change of node i's sum, if it has one, to the next sum above. */
static void move_up(const struct model *m, struct change *moves, size_t room, uint32_t i)
{
	const struct node *n = node_at(&m->trie, i);
	const struct sum *s = n->sum != NO_ID ? sum_at(&m->trie, n->sum) : NULL;

	if (s && !s->late && s->up != NO_ID && n->sum < room)
		change_add(&moves[s->up], &moves[n->sum]);
}

/* Inclusive changes of all sums: children come after their parents, so backwards is bottom-up. */
void interval_sum_moves(struct model *m)
{
	GROW(m->interval.moves, m->interval.moves_room, m->trie.sum_count);
	memset(m->interval.moves, 0, m->interval.moves_room * sizeof *m->interval.moves);
	for (uint32_t i = 0; i < m->trie.slot_count; i++) {
		struct change c = slot_change(&m->interval, i, &slot_at(&m->trie, i)->now);
		if (slot_at(&m->trie, i)->sum != NO_ID)
			change_add(&m->interval.moves[slot_at(&m->trie, i)->sum], &c);
	}
	for (uint32_t i = m->trie.node_count; i-- > 0;)
		move_up(m, m->interval.moves, m->interval.moves_room, i);
}

static void forget(struct interval *x)
{
	free(x->at_base);
	free(x->at_until);
	free(x->moves);
	x->at_base = x->at_until = NULL;
	x->moves = NULL;
	x->at_count = x->moves_room = 0;
	x->base = x->until = 0;
}

static void drop_job(struct interval *x)
{
	struct interval_job *j = &x->job;

	free(j->from.live);
	free(j->to.live);
	free(j->moves);
	*j = (struct interval_job){ 0 };
}

void interval_clear(struct interval *x)
{
	drop_job(x);
	forget(x);
}

static void start_job(struct interval *x, uint32_t from, uint32_t to)
{
	struct interval_job *j = &x->job;

	drop_job(x);
	*j = (struct interval_job){ .busy = true, .from.mark = from, .to.mark = to };
}

/* Starts the job; no tick is in progress. */
static void begin(struct model *m)
{
	struct interval_job *j = &m->interval.job;

	live_start(m, &j->from, j->from.mark);
	live_start(m, &j->to, j->to.mark);
	j->begun = true;
	j->slot_count = m->trie.slot_count;
	j->node_count = j->left = m->trie.node_count;
	j->sum_count = m->trie.sum_count;
	j->moves = xcalloc(j->sum_count + 1u, sizeof *j->moves); /* is there, if it holds nothing */
}

static void take_effect(struct model *m)
{
	struct interval_job j = m->interval.job;

	forget(&m->interval);
	m->interval.base = j.from.mark;
	m->interval.until = j.to.mark;
	m->interval.at_base = j.from.live;
	m->interval.at_until = j.to.live;
	m->interval.at_count = j.slot_count;
	m->interval.moves = j.moves;
	m->interval.moves_room = j.sum_count + 1u;
	m->interval.job = (struct interval_job){ 0 };
	m->interval.generation++;
	observers_tell(&m->observers, NULL, 0);
}

bool interval_go_on(struct model *m, uint64_t end_ns)
{
	struct interval_job *j = &m->interval.job;
	size_t seen = 0;

	if (!j->begun)
		begin(m);
	if (!live_go_on(m, &j->from, end_ns) || !live_go_on(m, &j->to, end_ns))
		return false;
	for (; j->slot < j->slot_count; j->slot++) {
		if (time_is_up(seen++, end_ns))
			return false;
		struct change c = slot_moved(m, &j->from, &j->to, j->slot);
		if (slot_at(&m->trie, j->slot)->sum < j->sum_count)
			change_add(&j->moves[slot_at(&m->trie, j->slot)->sum], &c);
	}
	for (; j->left; j->left--) {
		if (time_is_up(seen++, end_ns))
			return false;
		move_up(m, j->moves, j->sum_count, j->left - 1);
	}
	take_effect(m);
	return true;
}

int interval_ask(struct model *m, uint32_t from, uint32_t to)
{
	if (!model_mark_says(m, from) || !model_mark_says(m, to))
		return -1;
	m->interval.base_wanted = from;
	m->interval.until_wanted = to;
	if (from || to) {
		start_job(&m->interval, from, to);
		return 0;
	}
	interval_clear(&m->interval);
	m->tick.job.no_interval = true;
	m->interval.generation++;
	observers_tell(&m->observers, NULL, 0);
	return 0;
}

/* A mark's live amounts arrive again: the interval is restored when they are complete. */
void interval_unsettle(struct model *m, uint32_t id)
{
	uint32_t from = m->interval.base_wanted, to = m->interval.until_wanted;

	if (m->interval.base < id && m->interval.until < id && m->interval.job.from.mark < id &&
	    m->interval.job.to.mark < id)
		return;
	interval_ask(m, 0, 0);
	m->interval.base_wanted = from;
	m->interval.until_wanted = to;
}

/* The mark has lost its live amounts; its cells belong to another mark. */
void interval_without(struct model *m, uint32_t id)
{
	const struct interval_job j = m->interval.job;

	if (m->interval.base == id || m->interval.until == id || j.from.mark == id ||
	    j.to.mark == id)
		interval_ask(m, 0, 0);
	else if (j.begun)
		start_job(&m->interval, j.from.mark, j.to.mark);
}

/* Takes the wanted interval once it is possible. */
void interval_resume(struct model *m)
{
	uint32_t from = m->interval.base_wanted, to = m->interval.until_wanted;

	if (m->complete && !m->interval.job.busy &&
	    (from != m->interval.base || to != m->interval.until))
		interval_ask(m, from, to); /* or its cells are still under way */
}

int model_counting(const struct model *m, uint32_t *from, uint32_t *to)
{
	const struct interval_job *j = &m->interval.job;
	uint64_t all = (uint64_t)m->trie.slot_count + m->trie.node_count;
	uint64_t done = j->begun ? (uint64_t)j->slot + j->node_count - j->left : 0;

	*from = j->busy ? j->from.mark : m->interval.base;
	*to = j->busy ? j->to.mark : m->interval.until;
	return j->busy ? (int)(done * 100 / (all + 1)) : -1;
}

uint64_t model_intervals(const struct model *m)
{
	return m->interval.generation;
}

void model_set_of_sessions(struct model *m)
{
	m->interval.of_sessions = true;
}

bool model_of_sessions(const struct model *m)
{
	return m->interval.of_sessions;
}

uint32_t model_base(const struct model *m)
{
	return m->interval.base;
}

uint32_t model_until(const struct model *m)
{
	return m->interval.until;
}
