/* SPDX-License-Identifier: MIT
 *
 * sums.c - inclusive sums of nodes, kept where they cannot be derived from the node below.
 *
 * Most call paths end in a chain of nodes without branches. A node without children has its slots'
 * sum, and a node with a single child and no slots has the child's: neither keeps a sum. So
 *     a sum is kept = the node has a child, and another one or a slot, or a depth that SUM_EVERY
 *     divides
 * which bounds the way down to one. A node gets its sum when the second part arrives, and keeps it.
 *
 * Sums and slots know the next sum above them, so that a tick goes from sum to sum and skips the
 * nodes between. These links stay fixed while a tick or an interval is computed: a sum created
 * meanwhile is late. Until it is settled, it is read through the one part that its node had before;
 * its other parts hold nothing yet.
 */
#include "model/sums.h"

#include "model/internal.h"

#define SUM_EVERY 16u

struct tally model_self(const struct model *m, const struct node *n)
{
	struct tally sum = { 0 };

	for (uint32_t i = n->first_slot; i != NO_ID; i = slot_at(&m->trie, i)->next_of_node)
		tally_add(&sum, &slot_at(&m->trie, i)->now);
	return sum;
}

struct change model_self_change(const struct model *m, const struct node *n)
{
	struct change sum = { 0 };

	for (uint32_t i = n->first_slot; i != NO_ID; i = slot_at(&m->trie, i)->next_of_node) {
		struct change c = slot_change(&m->interval, i, &slot_at(&m->trie, i)->now);
		change_add(&sum, &c);
	}
	return sum;
}

bool model_held_at_base(const struct model *m, const struct node *n)
{
	for (uint32_t i = n->first_slot; i != NO_ID && m->interval.at_base;
	     i = slot_at(&m->trie, i)->next_of_node)
		if (i < m->interval.at_count && m->interval.at_base[i].blocks)
			return true;
	return false;
}

struct rate model_self_rate(const struct model *m, const struct node *n)
{
	struct rate rate = { 0 };

	for (uint32_t i = n->first_slot; i != NO_ID; i = slot_at(&m->trie, i)->next_of_node) {
		const struct slot *s = slot_at(&m->trie, i);
		struct rate r = rate_read(&m->rates, i);
		rate_add(&rate, &r);
		if (m->tick.job.folding && s->change)
			rate_add(&rate, &m->tick.changes->list[s->change - 1].self_rate);
	}
	return rate;
}

/* Finds the source of a node's amounts: a sum; NULL = the slots of *n, which is then at or below
 * it. */
static const struct sum *teller(const struct model *m, const struct node **n)
{
	for (;;) {
		const struct sum *s = (*n)->sum != NO_ID ? sum_at(&m->trie, (*n)->sum) : NULL;
		if (s && !s->late)
			return s;
		uint32_t below = s ? s->delta : (*n)->first_child;
		if (below == NO_ID)
			return NULL;
		*n = node_at(&m->trie, below);
	}
}

struct tally model_incl(const struct model *m, const struct node *n)
{
	const struct sum *s = teller(m, &n);

	if (!s)
		return model_self(m, n);
	const struct delta *d = unfolded(&m->tick, s);
	struct tally incl = s->incl;
	if (d)
		tally_add(&incl, &d->incl);
	return incl;
}

uint32_t model_sampled(const struct model *m, const struct node *n)
{
	const struct sum *s = teller(m, &n);

	if (!s)
		return n->self_estimate;
	const struct delta *d = unfolded(&m->tick, s);
	return s->sampled + (d ? d->sampled : 0);
}

struct rate model_rate(const struct model *m, const struct node *n)
{
	const struct sum *s = teller(m, &n);

	if (!s)
		return model_self_rate(m, n);
	const struct delta *d = unfolded(&m->tick, s);
	struct rate r = s->rate;
	if (d)
		rate_add(&r, &d->rate);
	return r;
}

struct change model_change(const struct model *m, const struct node *n)
{
	if (!model_diffing(m)) {
		struct tally sum = model_incl(m, n);
		return (struct change){ .born_blocks = live_blocks(&sum),
					.born_bytes = live_bytes(&sum) };
	}
	const struct sum *s = teller(m, &n);
	if (!s)
		return model_self_change(m, n);
	const struct delta *d = unfolded(&m->tick, s);
	struct change c =
		n->sum < m->interval.moves_room ? m->interval.moves[n->sum] : (struct change){ 0 };
	if (d && !m->interval.until)
		change_add(&c, &m->tick.delta_moves[d - m->tick.deltas]);
	return c;
}

uint32_t sum_above(const struct trie *t, const struct node *n)
{
	while (n->sum == NO_ID && n->parent != NO_ID)
		n = node_at(t, n->parent);
	return n->sum;
}

/* Attaches everything below the node through `child` (NO_ID: its slots) to the node's sum. */
static void take_over(struct model *m, const struct node *n, uint32_t child)
{
	const struct node *x = n;

	if (child != NO_ID)
		for (x = node_at(&m->trie, child); x->sum == NO_ID && x->first_child != NO_ID;)
			x = node_at(&m->trie, x->first_child);
	if (x != n && x->sum != NO_ID) {
		sum_at(&m->trie, x->sum)->up = n->sum;
		return;
	}
	for (uint32_t i = x->first_slot; i != NO_ID; i = slot_at(&m->trie, i)->next_of_node)
		slot_at(&m->trie, i)->sum = n->sum;
}

/* Copies the node's current amounts to its new sum. */
static void fill(struct model *m, const struct node *n, struct sum *s)
{
	s->incl = model_incl(m, n);
	s->sampled = model_sampled(m, n);
	s->rate = model_rate(m, n);
	if (m->interval.moves) {
		struct change moved = model_change(m, n);
		GROW(m->interval.moves, m->interval.moves_room, m->trie.sum_count);
		m->interval.moves[n->sum] = moved;
	}
}

void sums_before(struct model *m, struct node *n, bool child)
{
	bool second = n->first_child != NO_ID || (child && n->first_slot != NO_ID);

	if (n->sum != NO_ID || !(second || (child && n->depth % SUM_EVERY == 0)))
		return;
	struct sum sum = { .up = sum_above(&m->trie, n),
			   .depth = n->depth & 0xffffffu,
			   .late = second,
			   .delta = second ? n->first_child : 0 };
	*trie_new_sum(&m->trie) = sum;
	n->sum = m->trie.sum_count - 1;
	if (!second)
		return;
	bool alone = !m->trie.late_count && !m->tick.job.busy && !m->interval.job.begun;
	GROW(m->trie.late, m->trie.late_room, m->trie.late_count + 1);
	m->trie.late[m->trie.late_count++] = n->index;
	if (alone)
		sums_settle(m, UINT64_MAX);
}

bool sums_settle(struct model *m, uint64_t end_ns)
{
	for (size_t seen = 0; m->trie.late_count; m->trie.late_count--) {
		if (time_is_up(seen++, end_ns))
			return false;
		const struct node *n = node_at(&m->trie, m->trie.late[m->trie.late_count - 1]);
		struct sum *s = sum_at(&m->trie, n->sum);
		uint32_t child = s->delta;
		fill(m, n, s);
		s->delta = s->late = 0;
		take_over(m, n, child);
	}
	return true;
}

static void begin_sum(void *trie, uint32_t i)
{
	sum_at(trie, i)->incl = (struct tally){ 0 };
	sum_at(trie, i)->sampled = 0;
}

static void sum_slot(void *trie, uint32_t i)
{
	const struct slot *s = slot_at(trie, i);

	if (s->sum != NO_ID)
		tally_add(&sum_at(trie, s->sum)->incl, &s->now);
	node_at(trie, s->node)->self_estimate |= slot_is_estimate(s, &s->now);
}

static void sum_node(void *trie, uint32_t i)
{
	const struct node *n = node_at(trie, i);
	uint32_t above = n->self_estimate ? sum_above(trie, n) : NO_ID;

	if (above != NO_ID)
		sum_at(trie, above)->sampled++;
	const struct sum *s = n->sum != NO_ID ? sum_at(trie, n->sum) : NULL;
	if (!s || s->up == NO_ID)
		return;
	tally_add(&sum_at(trie, s->up)->incl, &s->incl);
	sum_at(trie, s->up)->sampled += s->sampled;
}

bool sums_make(struct trie *t, struct parts *x, uint64_t end_ns)
{
	/* Children come after their parents, so backwards is bottom-up. */
	const struct part list[] = {
		{ begin_sum, t->sum_count, false },
		{ sum_slot, t->slot_count, false },
		{ sum_node, t->node_count, true },
	};

	return parts_go_on(x, list, sizeof list / sizeof *list, t, end_ns);
}

bool sums_check(const struct trie *t, struct err *err)
{
	for (uint32_t i = 0; i < t->node_count; i++) {
		const struct node *n = node_at(t, i);
		bool child = n->first_child != NO_ID;
		bool more = child && (n->first_slot != NO_ID ||
				      node_at(t, n->first_child)->next_sibling != NO_ID);
		if ((n->sum != NO_ID) != (more || (child && n->depth % SUM_EVERY == 0)))
			return err_set(err, 125,
				       "model: node %u: a sum is kept where it need not, or is not",
				       n->id) == 0;
		uint32_t up = i ? sum_above(t, node_at(t, n->parent)) : NO_ID;
		if (n->sum != NO_ID && !t->late_count &&
		    (sum_at(t, n->sum)->up != up || sum_at(t, n->sum)->depth != n->depth))
			return err_set(err, 125,
				       "model: node %u: its sum goes to another than the next "
				       "above",
				       n->id) == 0;
		for (uint32_t k = n->first_slot; k != NO_ID && !t->late_count;
		     k = slot_at(t, k)->next_of_node)
			if (slot_at(t, k)->sum != sum_above(t, n))
				return err_set(err, 125,
					       "model: slot %u goes to another sum than the next "
					       "above",
					       slot_at(t, k)->id) == 0;
	}
	return true;
}
