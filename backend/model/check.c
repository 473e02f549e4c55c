/* SPDX-License-Identifier: MIT
 *
 * check.c - invariants of the model and of its snapshot, for tests: what the snapshot says of each
 * node is added up here slot by slot and node by node.
 */
#include "model/columns.h"
#include "model/model_state.h"

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

static struct plain *plain_of(const struct columns *c, struct plain *of, uint32_t slot)
{
	return &of[c->skeleton->node_of_stack[c->slots->stack[slot]]];
}

static void own_rates(const struct columns *c, struct plain *of)
{
	for (uint32_t i = 0; i < c->window.count; i++) {
		struct rate_entry e;
		for (struct window_at at = { 0 }; window_next(window_part(&c->window, i), &at, &e);)
			rate_add(&plain_of(c, of, e.slot)->rate,
				 &(struct rate){ e.bytes, e.blocks, e.freed });
	}
}

/* What each slot held at both ends of the interval. */
static bool own_changes(const struct model *m, const struct columns *c, struct plain *of,
			struct err *err)
{
	uint32_t base = m->interval.base, until = m->interval.until;
	struct live *from = model_held_at(m, c->slots, base);
	struct live *to = until ? model_held_at(m, c->slots, until) : NULL;

	for (uint32_t a = 0; from && a < c->slots->count; a++) {
		struct tally now = columns_now(c, a);
		struct live is = to ? to[a] : live_of(&now);
		struct change x =
			change_between(from[a].blocks, from[a].bytes, is.blocks, is.bytes);
		change_add(&plain_of(c, of, a)->change, &x);
	}
	bool says = from && (to || !until);
	free(from);
	free(to);
	return says || err_set(err, 125, "model: changes count between marks that cannot say") == 0;
}

static bool own_amounts(const struct model *m, const struct columns *c, struct plain *of,
			struct err *err)
{
	for (uint32_t a = 0; a < c->slots->count; a++) {
		struct tally now = columns_now(c, a);
		tally_add(&plain_of(c, of, a)->sum, &now);
	}
	for (uint32_t a = 0; a < c->slots->count; a++)
		if (bit_of(c->weighed_bits, c->place_of[a]))
			plain_of(c, of, a)->sampled = 1;
	own_rates(c, of);
	return own_changes(m, c, of, err);
}

static bool check_nodes(const struct heap *h, const struct skeleton *s, struct plain *of,
			struct err *err)
{
	for (uint32_t n = s->nodes; n-- > 0;) {
		if (skeleton_find(s, s->id[n]) != n || (n && s->parent[n] >= n))
			return err_set(err, 125, "model: node %u is misplaced", s->id[n]) == 0;
		if (n)
			add_up(&of[s->parent[n]], &of[n]);
		uint32_t at = skeleton_find(h->skeleton, s->id[n]);
		if (at == NO_ID)
			continue; /* it came since the tick */
		struct amounts got = heap_amounts(h, at);
		if (!same(&of[n], &got))
			return err_set(err, 125, "model: node %u: the snapshot has other sums",
				       s->id[n]) == 0;
	}
	return true;
}

/* Data beside the nodes and slots. */
static bool check_beside(const struct model *m, const struct columns *c, struct err *err)
{
	struct tally inherited = { 0 };

	for (uint32_t a = 0; a < c->slots->count; a++)
		if (c->slots->epoch[a] < m->program.first_epoch) {
			struct tally now = columns_now(c, a);
			tally_add(&inherited, &now);
		}
	if (memcmp(&inherited, &m->inherited, sizeof inherited))
		return err_set(err, 125, "model: the sum of inherited slots is wrong") == 0;
	if (!peak_adds_up(&c->peak))
		return err_set(err, 125, "model: the counters at the peak are not its sum") == 0;
	return true;
}

bool model_check(const struct model *m, struct err *err)
{
	const struct heap *h = model_heap(m);
	const struct columns *c = model_columns(m);
	struct plain *of = xcalloc(c->skeleton->nodes, sizeof *of);
	bool ok = own_amounts(m, c, of, err) && check_nodes(h, c->skeleton, of, err) &&
		  check_beside(m, c, err);

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
