/* SPDX-License-Identifier: MIT
 *
 * all_members.c - one member of All: its slots, its clock, and which of its slots count.
 */
#include "processes/all_state.h"

const struct member *all_member_of(const struct all *a, uint32_t id)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id == id)
			return &a->members[i];
	return NULL;
}

/* A fork's clock is its parent's. */
uint64_t all_clock_of(const struct processes *p, uint32_t id)
{
	const struct process *at = processes_find(p, id), *parent;

	for (size_t n = 0; n < p->count && at->forked; n++, at = parent)
		if (!(parent = processes_find(p, at->parent)))
			break;
	return at->forked ? 0 : at->begin_ns;
}

const struct columns *all_columns(const struct member *me)
{
	return me->watch ? model_columns(watch_now(me->watch)) : NULL;
}

uint32_t all_slots_of(const struct member *me, const struct columns *c)
{
	return c ? c->slots->count : (uint32_t)me->kept_count;
}

struct kept_slot all_slot_of(const struct member *me, const struct columns *c, uint32_t slot)
{
	if (!c)
		return me->kept[slot];
	const struct skeleton *s = c->skeleton;
	uint32_t node = s->node_of_stack[c->slots->stack[slot]];
	return (struct kept_slot){ .now = columns_now(c, slot),
				   .node = me->at[skeleton_arrival(s, node)],
				   .epoch = c->slots->epoch[slot],
				   .weighed = bit_of(c->weighed_bits, c->place_of[slot]) };
}

static uint64_t first_epoch_of(const struct all *a, uint32_t id, uint64_t otherwise)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->members[i].id == id)
			return a->members[i].first_epoch;
	return otherwise;
}

struct counting all_counting(const struct all *a, const struct member *me,
			     const struct line_share *share)
{
	uint64_t own = me->first_epoch;

	return (struct counting){ share->with ? first_epoch_of(a, share->with, own) : 0, own,
				  share->held };
}

void all_member_graph(const struct all *a, const struct member *me, struct all_graph *g)
{
	all_graph_add(g, watch_now(me->watch), processes_find(a->of, me->id),
		      all_clock_of(a->of, me->id), lines_heir_from(a->of, me->id));
}

void all_others_graph(const struct all *a, struct all_graph *g)
{
	for (uint32_t id = 1; id <= a->of->count; id++) {
		const struct line *l = lines_at(a->of, id);
		if (l && !all_member_of(a, id) && l->p.state != PROCESS_EXECED &&
		    l->p.state != PROCESS_UNFOLLOWED)
			all_graph_add_end(g, &l->p, processes_time_ns(a->of));
	}
}

struct since {
	const struct all *all;
	uint64_t time_ns;
};

static bool is_other_since(void *arg, const struct line *l)
{
	const struct since *x = arg;

	return !all_member_of(x->all, l->p.id) && l->p.begin_ns <= x->time_ns;
}

struct live all_others_since(const struct all *a, uint64_t time_ns)
{
	struct processes_sum sum;

	lines_total(a->of, is_other_since, &(struct since){ a, time_ns }, &sum);
	return (struct live){ sum.blocks.least, sum.bytes.least };
}
