/* SPDX-License-Identifier: MIT
 *
 * check.c - invariants of the model and of its snapshot, for tests: what the snapshot says of each
 * node is added up here slot by slot.
 */
#include "model/columns.h"
#include "model/internal.h"

#include <stdlib.h>
#include <string.h>

struct plain { /* of a node, with what is below */
	struct tally sum;
	struct change change;
	struct rate rate;
	uint32_t sampled;
};

static void add_up(struct plain *to, const struct plain *d)
{
	tally_add(&to->sum, &d->sum);
	change_add(&to->change, &d->change);
	rate_add(&to->rate, &d->rate);
	to->sampled += d->sampled;
}

static bool same(const struct plain *a, const struct amounts *b)
{
	return !memcmp(&a->sum, &b->sum, sizeof a->sum) &&
	       !memcmp(&a->change, &b->change, sizeof a->change) &&
	       !memcmp(&a->rate, &b->rate, sizeof a->rate) && a->sampled == b->sampled;
}

struct check_moves {
	const struct model *m;
	struct plain *of_node;
};

static void add_move(void *arg, uint32_t slot, const struct change *c)
{
	const struct check_moves *x = arg;

	change_add(&x->of_node[slot_by_id(&x->m->trie, slot)->node].change, c);
}

static bool own_amounts(const struct model *m, struct plain *of, struct err *err)
{
	struct rate *rates = xcalloc(m->trie.slot_count + 1ul, sizeof *rates);
	struct check_moves x = { m, of };

	rates_add_up(&m->rates, rates);
	for (uint32_t i = 0; i < m->trie.slot_count; i++) {
		const struct slot *s = slot_at(&m->trie, i);
		tally_add(&of[s->node].sum, &s->now);
		rate_add(&of[s->node].rate, &rates[i]);
		of[s->node].sampled = node_at(&m->trie, s->node)->self_estimate;
	}
	free(rates);
	if (model_between(m, m->interval.base, m->interval.until, add_move, &x))
		return err_set(err, 125, "model: changes count between marks that cannot say") == 0;
	return true;
}

static bool check_nodes(const struct model *m, struct plain *of, struct err *err)
{
	const struct heap *h = model_heap(m);

	for (uint32_t i = m->trie.node_count; i-- > 0;) {
		const struct node *n = node_at(&m->trie, i);
		if (n->index != i || idmap_get(&m->trie.node_ids, n->id) != i ||
		    (i && n->parent >= i))
			return err_set(err, 125, "model: node %u is misplaced", n->id) == 0;
		if (i)
			add_up(&of[n->parent], &of[i]);
		if (i >= h->skeleton->nodes)
			continue; /* it came since the tick */
		struct amounts got = heap_amounts(h, h->skeleton->node_of[i]);
		if (!same(&of[i], &got))
			return err_set(err, 125, "model: node %u: the snapshot has other sums",
				       n->id) == 0;
	}
	return true;
}

/* Data beside the nodes and slots must exist exactly while it is needed. */
static bool check_beside(const struct model *m, struct err *err)
{
	struct tally inherited = { 0 };

	for (uint32_t i = 0; i < m->trie.slot_count; i++)
		if (slot_at(&m->trie, i)->epoch < m->program.first_epoch)
			tally_add(&inherited, &slot_at(&m->trie, i)->now);
	if (memcmp(&inherited, &m->inherited, sizeof inherited))
		return err_set(err, 125, "model: the sum of inherited slots is wrong") == 0;
	if (!peak_adds_up(&m->peak))
		return err_set(err, 125, "model: the counters at the peak are not its sum") == 0;
	return true;
}

bool model_check(const struct model *m, struct err *err)
{
	struct plain *of = xcalloc(m->trie.node_count, sizeof *of);
	bool ok = own_amounts(m, of, err) && check_nodes(m, of, err) && check_beside(m, err);

	if (ok && m->tick_complete && !m->totals_pending &&
	    memcmp(&of[0].sum, &m->totals.sum, sizeof of[0].sum))
		ok = err_set(err, 125,
			     "model: totals are not the sum over slots (%llu of %llu bytes "
			     "allocated)",
			     (unsigned long long)of[0].sum.alloc_bytes,
			     (unsigned long long)m->totals.sum.alloc_bytes) == 0;
	free(of);
	return ok;
}
