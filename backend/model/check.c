/* SPDX-License-Identifier: MIT
 *
 * check.c - invariants of the model, for tests.
 */
#include "model/internal.h"
#include "model/sums.h"

#include <stdlib.h>
#include <string.h>

static bool same_tally(const struct tally *a, const struct tally *b)
{
	return !memcmp(a, b, sizeof *a);
}

static bool same_change(const struct change *a, const struct change *b)
{
	return !memcmp(a, b, sizeof *a);
}

static bool check_nodes(const struct model *m, const struct tally *sums, const struct change *moves,
			struct err *err)
{
	for (uint32_t i = 0; i < m->trie.node_count; i++) {
		const struct node *n = node_at(&m->trie, i);
		if (n->index != i || idmap_get(&m->trie.node_ids, n->id) != i ||
		    (n->estimate_comes && !m->tick.job.busy))
			return err_set(err, 125, "model: node %u is misplaced", n->id) == 0;
		uint32_t sampled = n->self_estimate;
		for (uint32_t c = n->first_child; c != NO_ID;
		     c = node_at(&m->trie, c)->next_sibling)
			sampled += model_sampled(m, node_at(&m->trie, c));
		if (sampled != model_sampled(m, n))
			return err_set(err, 125, "model: node %u: sampled stacks are miscounted",
				       n->id) == 0;
		struct tally incl = model_incl(m, n);
		struct change c = model_change(m, n);
		if (!same_tally(&incl, &sums[i]) || !same_change(&c, &moves[i]))
			return err_set(err, 125, "model: node %u: inclusive sums are wrong",
				       n->id) == 0;
		if (!model_diffing(m) && c.born_bytes - c.gone_bytes != live_bytes(&incl))
			return err_set(err, 125, "model: node %u: net is not live", n->id) == 0;
	}
	return true;
}

static bool same_rate(const struct rate *a, const struct rate *b)
{
	return a->bytes == b->bytes && a->blocks == b->blocks && a->freed == b->freed;
}

static bool check_rates(const struct model *m, struct err *err)
{
	struct rate *slots = xcalloc(m->trie.slot_count, sizeof *slots),
		    *sums = xcalloc(m->trie.node_count, sizeof *sums);
	bool ok = true;

	rates_add_up(&m->rates, slots);
	for (uint32_t i = 0; i < m->trie.slot_count; i++)
		rate_add(&sums[slot_at(&m->trie, i)->node], &slots[i]);
	for (uint32_t i = m->trie.node_count; ok && i-- > 0;) {
		const struct node *n = node_at(&m->trie, i);
		struct rate r = model_rate(m, n);
		if (!same_rate(&r, &sums[i]))
			ok = err_set(err, 125, "model: node %u: the rate is not that of the window",
				     n->id) == 0;
		if (i)
			rate_add(&sums[n->parent], &sums[i]);
	}
	free(slots);
	free(sums);
	return ok;
}

/* Data beside the nodes and slots must exist exactly while it is needed. */
static bool check_beside(const struct model *m, struct err *err)
{
	if (!m->interval.moves != !model_diffing(m) || !m->interval.at_base != !m->interval.base ||
	    !m->interval.at_until != !m->interval.until)
		return err_set(err, 125, "model: changes are kept for another interval") == 0;
	if (m->rates.pages && !rates_entries(&m->rates) && !m->tick.job.folding)
		return err_set(err, 125, "model: rates are kept, and there are none") == 0;
	if (!peak_adds_up(&m->peak))
		return err_set(err, 125, "model: the counters at the peak are not its sum") == 0;
	return check_rates(m, err);
}

struct check_moves {
	const struct model *m;
	struct change *of_node;
};

static void add_move(void *arg, uint32_t slot, const struct change *c)
{
	const struct check_moves *x = arg;

	change_add(&x->of_node[slot_by_id(&x->m->trie, slot)->node], c);
}

bool model_check(const struct model *m, struct err *err)
{
	struct tally *sums = xcalloc(m->trie.node_count, sizeof *sums);
	struct change *moves = xcalloc(m->trie.node_count, sizeof *moves);
	struct tally all = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < m->trie.slot_count; i++) {
		const struct slot *s = slot_at(&m->trie, i);
		tally_add(&sums[s->node], &s->now);
		tally_add(&all, &s->now);
	}
	struct check_moves x = { m, moves };
	if (model_between(m, m->interval.base, m->interval.until, add_move, &x))
		ok = err_set(err, 125, "model: changes count between marks that cannot say") == 0;
	for (uint32_t i = 0; ok && i < m->trie.node_count; i++) {
		const struct node *n = node_at(&m->trie, i);
		struct tally self = model_self(m, n);
		struct change moved = model_self_change(m, n);
		if (!same_tally(&sums[i], &self) || !same_change(&moves[i], &moved))
			ok = err_set(err, 125, "model: node %u: own sums are wrong", n->id) == 0;
	}
	for (uint32_t i = m->trie.node_count; i-- > 1;) {
		uint32_t up = node_at(&m->trie, i)->parent;
		if (up >= i) {
			ok = err_set(err, 125, "model: node %u comes before its parent",
				     node_at(&m->trie, i)->id) == 0;
			break;
		}
		tally_add(&sums[up], &sums[i]);
		change_add(&moves[up], &moves[i]);
	}
	ok = ok && check_nodes(m, sums, moves, err) && sums_check(&m->trie, err) &&
	     check_beside(m, err);
	if (ok && m->tick_complete && !m->totals_pending && !same_tally(&all, &m->totals.sum))
		ok = err_set(err, 125,
			     "model: totals are not the sum over slots (%llu of %llu bytes "
			     "allocated)",
			     (unsigned long long)all.alloc_bytes,
			     (unsigned long long)m->totals.sum.alloc_bytes) == 0;
	free(sums);
	free(moves);
	return ok;
}
