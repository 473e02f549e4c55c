/* SPDX-License-Identifier: MIT
 *
 * all_marks.c - the marks of All. Each process has marks of its own, with its own numbers and
 * epochs; those of one name that were set together are one mark of All:
 *
 *     a mark of All = one name, at one time (within NEAR_NS), in every member that ran then
 *
 * memtop sets a mark in one process after the other, and later in those whose link is still to
 * come. A mark that a program sets in one process of several is that process' alone. A member's
 * slot belongs to the epoch of All that follows the last mark before the slot; what a fork
 * inherited keeps the epochs that its parent gave it.
 */
#include "processes/all_state.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_NS 6000000000ull  /* tree_marks.c gives up after 5 s */
#define BEGIN_NS 1000000000ull /* after its begin, or before its end, a process may lack a mark */
#define EPOCHS_MAX (1u << 20)

static void free_list(struct member_mark *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].changes);
	free(list);
}

static void forget_list(struct member *me)
{
	free_list(me->marks, me->mark_count);
	me->marks = NULL;
	me->mark_count = me->mark_room = 0;
}

static void walk_end(struct member_held *h)
{
	mark_walk_end(&h->walk);
	h->at = 0;
}

void all_marks_forget(struct member *me)
{
	forget_list(me);
	walk_end(&me->held);
	free(me->mark_of);
	free(me->epoch_of);
}

void all_marks_take(const struct all *a, struct member *me)
{
	const struct model *m = me->watch ? watch_now(me->watch) : NULL;

	if (!m || me->marks_generation == model_marks_generation(m) + 1)
		return;
	uint64_t clock = all_clock_of(a->of, me->id);
	struct member_mark *before = me->marks;
	size_t count = me->mark_count, at = 0;
	me->marks = NULL;
	me->mark_count = me->mark_room = 0;
	me->marks_generation = model_marks_generation(m) + 1;
	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);
		if (!k || !k->known || k->flags & MTW_MARK_DROPPED || k->epoch >= EPOCHS_MAX)
			continue;
		GROW(me->marks, me->mark_room, me->mark_count + 1);
		struct member_mark *to = &me->marks[me->mark_count++];
		*to = (struct member_mark){ .id = id,
					    .epoch = k->epoch,
					    .time_ns = k->time_ns + clock,
					    .totals = k->totals,
					    .says = model_mark_says(m, id),
					    .reduced = k->flags & MTW_MARK_TOTALS_ONLY };
		snprintf(to->name, sizeof to->name, "%s", k->name);
		snprintf(to->set_by, sizeof to->set_by, "%s", k->set_by);
		while (at < count && before[at].id < id)
			at++;
		if (at < count && before[at].id == id && before[at].epoch == k->epoch)
			to->joined_ns = before[at].joined_ns;
	}
	free_list(before, count);
}

static bool keep_change(void *arg, uint32_t mark, uint32_t slot, const struct live *was,
			const struct live *is)
{
	struct member *me = arg;

	(void)was;
	for (size_t i = 0; i < me->mark_count; i++) {
		struct member_mark *k = &me->marks[i];
		if (k->id != mark)
			continue;
		GROW(k->changes, k->room, k->count + 1);
		k->changes[k->count++] = (struct mark_change){ slot, *is };
	}
	return true;
}

void all_marks_keep(struct member *me)
{
	const struct model *m = watch_now(me->watch);

	walk_end(&me->held);
	if (me->mark_count)
		mark_walk(m, model_columns(m)->slots, &me->held.walk, model_marks_whole(m),
			  keep_change, me);
	walk_end(&me->held);
}

static bool go_on(void *arg, uint32_t mark, uint32_t slot, const struct live *was,
		  const struct live *is)
{
	(void)arg, (void)mark, (void)slot, (void)was, (void)is;
	return true;
}

static const struct live *held_in_model(struct member_held *h, const struct model *m, uint32_t id)
{
	if (h->chain != model_marks_chain(m) || h->walk.mark > id + 1)
		walk_end(h);
	h->chain = model_marks_chain(m);
	mark_walk(m, model_columns(m)->slots, &h->walk, id, go_on, NULL);
	return h->walk.held;
}

static const struct live *held_in_kept(struct member *me, size_t i)
{
	struct member_held *h = &me->held;

	if (h->at > i + 1 || h->walk.slots != me->kept_count)
		walk_end(h);
	if (!h->walk.held)
		h->walk.held = xcalloc(me->kept_count + 1, sizeof *h->walk.held);
	h->walk.slots = (uint32_t)me->kept_count;
	for (; h->at <= i; h->at++)
		for (size_t n = 0; n < me->marks[h->at].count; n++) {
			const struct mark_change *c = &me->marks[h->at].changes[n];
			if (c->slot < h->walk.slots)
				h->walk.held[c->slot] = c->is;
		}
	return h->walk.held;
}

/* By the member's slot. */
static const struct live *held_at(struct member *me, size_t i)
{
	return me->watch ? held_in_model(&me->held, watch_now(me->watch), me->marks[i].id)
			 : held_in_kept(me, i);
}

struct found {
	uint64_t time_ns; /* first, to be sorted by */
	uint32_t member, mark;
};

static int by_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->member != y->member ? (x->member > y->member) - (x->member < y->member)
				      : (x->mark > y->mark) - (x->mark < y->mark);
}

static struct found *find_all(const struct all *a, size_t *count)
{
	struct found *list;
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		n += a->members[i].mark_count;
	list = xcalloc(n + 1, sizeof *list);
	*count = n;
	n = 0;
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < a->members[i].mark_count; k++)
			list[n++] = (struct found){ a->members[i].marks[k].time_ns, (uint32_t)i,
						    (uint32_t)k };
	if (*count)
		qsort(list, *count, sizeof *list, by_time);
	return list;
}

static size_t mark_for(const struct all *a, const struct found *f)
{
	const struct member *me = &a->members[f->member];
	const struct member_mark *of = &me->marks[f->mark];
	size_t found = a->mark_count;

	for (size_t k = a->mark_count; k-- > 0;) {
		const struct all_mark *at = &a->marks[k];
		if (of->time_ns - at->time_ns > NEAR_NS)
			break;
		/* one that is renamed has its new name in each process at another time */
		if ((at->time_ns == of->joined_ns || !strcmp(at->name, of->name)) &&
		    !me->mark_of[k])
			found = k;
	}
	return found;
}

static void join(struct all *a)
{
	size_t count;
	struct found *list = find_all(a, &count);

	for (size_t i = 0; i < count; i++) {
		struct member *me = &a->members[list[i].member];
		const struct member_mark *of = &me->marks[list[i].mark];
		GROW(me->mark_of, me->mark_of_room, a->mark_count + 1);
		size_t k = mark_for(a, &list[i]);
		if (k == a->mark_count) {
			GROW(a->marks, a->mark_room, k + 1);
			a->marks[a->mark_count++] = (struct all_mark){ .time_ns = of->time_ns };
			memcpy(a->marks[k].name, of->name, sizeof of->name);
			memcpy(a->marks[k].set_by, of->set_by, sizeof of->set_by);
		}
		a->marks[k].reduced |= of->reduced;
		me->mark_of[k] = list[i].mark + 1;
	}
	free(list);
}

static bool began_after(const struct all *a, const struct member *me, uint64_t time_ns)
{
	return processes_find(a->of, me->id)->begin_ns + BEGIN_NS > time_ns;
}

enum there {
	THERE,
	MISSING,
	COMING, /* it may still come */
};

static enum there is_there(const struct all *a, size_t k)
{
	const struct all_mark *at = &a->marks[k];
	enum there there = THERE;

	for (size_t i = 0; i < a->count; i++) {
		const struct member *me = &a->members[i];
		const struct process *p = me->id ? processes_find(a->of, me->id) : NULL;
		if (!p)
			continue;
		const struct member_mark *has =
			me->mark_of[k] ? &me->marks[me->mark_of[k] - 1] : NULL;
		if (has && !has->says && !has->reduced)
			there = me->watch && a->live ? COMING : MISSING;
		if (has || began_after(a, me, at->time_ns) ||
		    (p->end_ns && p->end_ns < at->time_ns + BEGIN_NS))
			continue;
		if (!a->live || processes_time_ns(a->of) > at->time_ns + NEAR_NS)
			return MISSING;
		there = COMING;
	}
	return there;
}

static void join_member(struct member *me, size_t from, size_t to, uint64_t time_ns)
{
	uint32_t mark = me->mark_of[from];

	me->mark_of[to] = mark;
	if (mark)
		me->marks[mark - 1].joined_ns = time_ns;
}

/* Marks are All's in their order: the ones after one that may still come wait for it. */
static void choose(struct all *a)
{
	size_t n = 0;

	for (size_t k = 0; k < a->mark_count; k++) {
		enum there there = is_there(a, k);
		if (there == COMING)
			break;
		if (there == MISSING)
			continue;
		a->marks[n] = a->marks[k];
		for (size_t i = 0; i < a->count; i++)
			join_member(&a->members[i], k, n, a->marks[n].time_ns);
		n++;
	}
	a->mark_count = n;
}

/* True: not as they were. */
static bool set_epochs(const struct all *a, struct member *me)
{
	uint32_t n = 1, *was = me->epoch_of, were = me->epochs;

	for (size_t i = 0; i < me->mark_count; i++)
		if (me->marks[i].epoch + 2 > n)
			n = (uint32_t)me->marks[i].epoch + 2;
	me->epoch_of = xcalloc(n, sizeof *me->epoch_of);
	me->epochs = n;
	for (size_t k = 0; k < a->mark_count; k++) {
		uint32_t has = me->mark_of[k];
		if (has)
			me->epoch_of[me->marks[has - 1].epoch + 1] = (uint32_t)k + 1;
		else if (began_after(a, me, a->marks[k].time_ns))
			me->epoch_of[0] = (uint32_t)k + 1;
	}
	for (uint32_t e = 1; e < n; e++)
		if (me->epoch_of[e] < me->epoch_of[e - 1])
			me->epoch_of[e] = me->epoch_of[e - 1];
	bool moved = n != were || memcmp(was, me->epoch_of, n * sizeof *was);
	free(was);
	return moved;
}

void all_marks_gather(struct all *a)
{
	bool moved = false;

	a->mark_count = 0;
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		all_marks_take(a, me);
		if (me->mark_of_room)
			memset(me->mark_of, 0, me->mark_of_room * sizeof *me->mark_of);
	}
	join(a);
	for (size_t i = 0; i < a->count; i++)
		GROW(a->members[i].mark_of, a->members[i].mark_of_room, a->mark_count + 1);
	choose(a);
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id)
			moved |= set_epochs(a, &a->members[i]);
	a->placings += moved;
}

/* What it inherited was born in its parent's epochs. */
static const struct member *parent_of(const struct all *a, const struct member *me)
{
	const struct process *p = processes_find(a->of, me->id);

	return p && p->forked ? all_member_of(a, p->parent) : NULL;
}

uint32_t all_marks_epoch(const struct all *a, const struct member *me, uint64_t epoch)
{
	for (size_t n = 0; me && epoch < me->first_epoch && n <= a->count; n++)
		me = parent_of(a, me);
	if (!me || !me->epochs)
		return 0;
	return me->epoch_of[epoch < me->epochs ? epoch : me->epochs - 1];
}

static void add_held(struct member *me, size_t k, struct counting c, struct live *held)
{
	const struct live *at = me->mark_of[k] ? held_at(me, me->mark_of[k] - 1) : NULL;

	const struct columns *columns = all_columns(me);
	for (uint32_t i = 0; i < me->placed; i++) {
		struct kept_slot s = all_slot_of(me, columns, i);
		if (me->to[i] == NO_ID || s.epoch < c.from)
			continue;
		struct live is = at ? i < me->held.walk.slots ? at[i] : (struct live){ 0 }
				    : (struct live){ live_blocks(&s.now), live_bytes(&s.now) };
		held[me->to[i]].blocks += is.blocks;
		held[me->to[i]].bytes += is.bytes;
	}
}

/* A member without the mark ended before it: where it counts, with what it had at its end. */
void all_marks_held(struct all *a, size_t k, struct live *held)
{
	uint64_t time_ns = a->marks[k].time_ns;
	struct line_share *shares = xcalloc(a->of->count + 1ul, sizeof *shares);

	lines_shares_at(a->of, time_ns, shares);
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		if (me->id && shares[me->id].held &&
		    (me->mark_of[k] || !began_after(a, me, time_ns)))
			add_held(me, k, all_counting(a, me, &shares[me->id]), held);
	}
	free(shares);
	if (a->others_slot) {
		struct live is = all_others_since(a, time_ns);
		held[a->others_slot - 1].blocks += is.blocks;
		held[a->others_slot - 1].bytes += is.bytes;
	}
}

static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

struct tally all_marks_totals(const struct all *a, size_t k, const struct live *held)
{
	struct tally t = { 0 };
	struct live sum = { 0 };

	for (uint32_t id = 1; id <= a->of->count; id++) {
		const struct process *p = processes_find(a->of, id);
		const struct member *me = p ? all_member_of(a, id) : NULL;
		const struct tally *at =
			me && me->mark_of[k] ? &me->marks[me->mark_of[k] - 1].totals : NULL;
		if (p && !at && p->end_ns && p->end_ns < a->marks[k].time_ns + BEGIN_NS &&
		    p->begin_ns <= a->marks[k].time_ns)
			at = &p->sum;
		t.alloc_blocks += at ? without(at->alloc_blocks, p->before_blocks) : 0;
		t.alloc_bytes += at ? without(at->alloc_bytes, p->before_bytes) : 0;
	}
	for (uint32_t i = 0; i < a->slot_count; i++) {
		sum.blocks += held[i].blocks;
		sum.bytes += held[i].bytes;
	}
	if (t.alloc_blocks < sum.blocks)
		t.alloc_blocks = sum.blocks;
	if (t.alloc_bytes < sum.bytes)
		t.alloc_bytes = sum.bytes;
	t.free_blocks = t.alloc_blocks - sum.blocks;
	t.free_bytes = t.alloc_bytes - sum.bytes;
	return t;
}
