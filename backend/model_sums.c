/* SPDX-License-Identifier: MIT
 *
 * model_sums.c - inclusive sums of nodes, kept where they cannot be had from below.
 *
 * Most call paths end in a chain of nodes that nothing else runs through. A node without children has what
 * its slots say, and one with a single child and no slots has what the child has: neither keeps a sum. So
 *     a sum is kept = the node has a child, and another one or a slot, or a depth that SUM_EVERY divides
 * which bounds the way down to one. A node gets its sum when the second part comes, and keeps it.
 */
#include "model_priv.h"

#define SUM_EVERY 16u

/* The node at or below n that says what n has. */
static const struct node *teller(const struct model *m, const struct node *n)
{
	while (n->sum == NO_ID && n->first_child != NO_ID)
		n = node_at(m, n->first_child);
	return n;
}

struct tally model_incl(const struct model *m, const struct node *n)
{
	const struct node *x = teller(m, n);

	if (x->sum == NO_ID)
		return model_self(m, x);
	const struct delta *d = unfolded(m, x);
	struct tally incl = sum_at(m, x->sum)->incl;
	if (d)
		tally_add(&incl, &d->incl);
	return incl;
}

uint32_t model_sampled(const struct model *m, const struct node *n)
{
	const struct node *x = teller(m, n);

	if (x->sum == NO_ID)
		return x->self_estimate;
	const struct delta *d = unfolded(m, x);
	return sum_at(m, x->sum)->sampled + (d ? d->sampled : 0);
}

void sums_before(struct model *m, struct node *n, bool child)
{
	bool second = n->first_child != NO_ID || (child && n->first_slot != NO_ID);

	if (n->sum != NO_ID || !(second || (child && n->depth % SUM_EVERY == 0)))
		return;
	struct sum sum = { model_incl(m, n), model_sampled(m, n) };
	const struct delta *d = unfolded(m, n);
	if (d) { /* will be folded in */
		sum.incl = tally_sub(&sum.incl, &d->incl);
		sum.sampled -= d->sampled;
	}
	chunk_for((void ***)&m->sums, &m->sum_chunks, m->sum_count, sizeof sum);
	n->sum = m->sum_count++;
	*sum_at(m, n->sum) = sum;
}

void sums_make(struct model *m)
{
	for (uint32_t i = 0; i < m->sum_count; i++)
		*sum_at(m, i) = (struct sum){ 0 };
	for (uint32_t i = 0; i < m->slot_count; i++) {
		const struct slot *s = slot_at(m, i);
		struct node *n = node_at(m, s->node);
		n->self_estimate |= slot_is_estimate(s, &s->now);
		if (n->sum != NO_ID)
			tally_add(&sum_at(m, n->sum)->incl, &s->now);
	}
	/* Children come after their parents, so backwards is bottom-up. */
	for (uint32_t i = m->node_count; i-- > 0;) {
		const struct node *n = node_at(m, i);
		if (n->sum != NO_ID)
			sum_at(m, n->sum)->sampled += n->self_estimate;
		uint32_t up = n->parent == NO_ID ? NO_ID : node_at(m, n->parent)->sum;
		if (up == NO_ID)
			continue;
		struct tally incl = model_incl(m, n);
		tally_add(&sum_at(m, up)->incl, &incl);
		sum_at(m, up)->sampled += model_sampled(m, n);
	}
}

bool sums_check(const struct model *m, struct err *err)
{
	for (uint32_t i = 0; i < m->node_count; i++) {
		const struct node *n = node_at(m, i);
		bool child = n->first_child != NO_ID;
		bool more = child && (n->first_slot != NO_ID || node_at(m, n->first_child)->next_sibling != NO_ID);
		if ((n->sum != NO_ID) != (more || (child && n->depth % SUM_EVERY == 0)))
			return err_set(err, 125, "model: node %u: a sum is kept where it need not, or is not", n->id) == 0;
	}
	return true;
}
