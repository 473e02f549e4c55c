/* SPDX-License-Identifier: MIT
 *
 * marks.c - what call sites held at marks, for the intervals between them, and at the agent's
 * samples, for their growth.
 *
 * The result holds until marks or samples change, or stacks move to other sites. It takes one walk
 * over the slots' cells, in slices, beside the current result: a slot created during the walk held
 * nothing at any of them. The next walk counts stacks that change their site meanwhile.
 */
#include "query/sites/marks.h"
#include "query/sites/sites.h"
#include "query/steps.h"

#include <string.h>

struct walking {
	struct query *q;
	struct site_marks *k;
	size_t place; /* of the mark before */
};

static bool count_slot(void *arg, uint32_t mark, const struct slot *s, const struct live *was,
		       const struct live *is)
{
	struct walking *w = arg;
	uint32_t number = sites_of_index(w->q, s->node);

	while (w->k->wanted[w->place] < mark)
		w->place++;
	w->k->missed |= !number;
	if (number) {
		struct site_held *h = &w->q->sites->sites[number - 1]->held[w->k->which];
		GROW(h->next, h->next_room, w->k->wanted_count);
		h->next[w->place] += is->bytes - was->bytes;
	}
	return w->k->walk.cell % NODES_A_STEP || take_step(w->q);
}

static uint64_t generation(const struct query *q, const struct site_marks *k)
{
	return k->which == AT_SHAPES ? model_samples_generation(q->m)
				     : model_marks_generation(q->m);
}

/* Do both cover the same stacks? A newer stack held nothing then, unless it was met before it
 * had a site. */
static bool same_stacks(const struct site_table *t, const struct site_marks *k)
{
	return k->version == t->version &&
	       (k->linked == t->linked || (k->which == AT_SHAPES && !k->missed));
}

static bool same_marks(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
	return a_count == b_count && !memcmp(a, b, b_count * sizeof *b);
}

static void start(struct query *q, struct site_table *t, struct site_marks *k,
		  const uint32_t *marks, size_t count)
{
	mark_walk_end(&k->walk);
	memcpy(k->wanted, marks, count * sizeof *marks);
	k->wanted_count = count;
	k->walking = true;
	k->generation = generation(q, k);
	k->missed = false;
	k->next_version = t->version;
	k->next_linked = t->linked;
	for (size_t i = 0; i < t->count; i++) {
		struct site_held *h = &t->sites[i]->held[k->which];
		if (h->next_room)
			memset(h->next, 0, h->next_room * sizeof *h->next);
	}
}

static void publish(struct site_table *t, struct site_marks *k)
{
	mark_walk_end(&k->walk);
	memcpy(k->marks, k->wanted, k->wanted_count * sizeof *k->marks);
	k->count = k->wanted_count;
	k->version = k->next_version;
	k->linked = k->next_linked;
	k->publications++;
	k->walking = false;
	for (size_t i = 0; i < t->count; i++) {
		struct site_held *h = &t->sites[i]->held[k->which];
		GROW(h->next, h->next_room, k->count + 1);
		GROW(h->at, h->at_room, k->count + 1);
		for (size_t p = 0; p < k->count; p++)
			h->at[p] = h->next[p] + (p ? h->at[p - 1] : 0);
	}
}

bool sites_at_marks(struct query *q, struct site_table *t, struct site_marks *k,
		    const uint32_t *marks, size_t count)
{
	bool known =
		same_marks(k->marks, k->count, marks, count) && k->generation == generation(q, k);

	if (known && same_stacks(t, k) && !k->walking)
		return true;
	if (!k->walking || !same_marks(k->wanted, k->wanted_count, marks, count) ||
	    k->generation != generation(q, k) || q->allowed == SIZE_MAX)
		start(q, t, k, marks, count);
	struct walking w = { q, k, 0 };
	if (count &&
	    !(k->which == AT_SHAPES ? sample_walk(q->m, &k->walk, count_slot, &w)
				    : mark_walk(q->m, &k->walk, marks[count - 1], count_slot, &w)))
		return known;
	publish(t, k);
	return true;
}

bool sites_at_samples(struct query *q, struct site_table *t)
{
	const struct sample *list;
	uint32_t serials[MTW_SAMPLES_MAX];
	size_t n = model_samples(q->m, &list);

	for (size_t i = 0; i < n; i++)
		serials[i] = list[i].f.serial;
	return sites_at_marks(q, t, &t->at_samples, serials, n);
}

uint64_t site_at_mark(const struct query_site *s, const struct site_marks *k, size_t place)
{
	const struct site_held *h = &s->held[k->which];

	return place < h->at_room ? h->at[place] : 0; /* a site that is new */
}

void site_marks_forget(struct site_marks *k)
{
	uint32_t which = k->which;
	uint64_t publications = k->publications;

	mark_walk_end(&k->walk);
	memset(k, 0, sizeof *k);
	k->which = which;
	k->publications = publications + 1;
}
