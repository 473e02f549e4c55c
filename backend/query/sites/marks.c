/* SPDX-License-Identifier: MIT
 *
 * marks.c - what call sites held at marks, for the intervals between them, and at the agent's
 * samples, for their growth.
 *
 * The result holds until marks or samples change, stacks come or move to other sites. It takes one
 * walk over the slots' cells.
 */
#include "query/sites/marks.h"
#include "query/sites/sites.h"

#include <stdlib.h>
#include <string.h>

struct walking {
	struct site_marks *k;
	uint32_t *site; /* of each slot: its number, 0 = none */
	uint64_t *at;   /* of the first site, at the first mark */
	size_t a_site;  /* from a site to the next */
	size_t place;   /* of the mark before */
};

/* By slot: there are several cells of each. */
static uint32_t *sites_of_slots(const struct query *q)
{
	const struct slots *slots = q->raw->slots;
	uint32_t *of_stack = sites_of_stacks(q->sites, q->raw->skeleton);
	uint32_t *list = xmalloc((slots->count + 1ul) * sizeof *list);

	for (uint32_t a = 0; a < slots->count; a++)
		list[a] = of_stack[slots->stack[a]];
	free(of_stack);
	return list;
}

static bool count_slot(void *arg, uint32_t mark, uint32_t slot, const struct live *was,
		       const struct live *is)
{
	struct walking *w = arg;
	uint32_t number = w->site[slot];

	while (w->k->marks[w->place] < mark)
		w->place++;
	w->k->missed |= !number;
	if (number)
		w->at[(number - 1) * w->a_site + w->place] += is->bytes - was->bytes;
	return true;
}

static uint64_t generation(const struct query *q, const struct site_marks *k)
{
	return k->which == AT_SHAPES ? model_samples_generation(q->m)
				     : model_marks_generation(q->m);
}

/* Are they of the same stacks? A newer stack held nothing at a sample, unless it was met before it
 * had a site. */
static bool same_stacks(const struct site_table *t, const struct site_marks *k)
{
	return k->version == t->version &&
	       (k->linked == t->linked || (k->which == AT_SHAPES && !k->missed));
}

static bool same(const struct query *q, const struct site_table *t, const struct site_marks *k,
		 const uint32_t *marks, size_t count)
{
	return k->publications && k->count == count &&
	       !memcmp(k->marks, marks, count * sizeof *marks) &&
	       k->generation == generation(q, k) && same_stacks(t, k);
}

void site_figures_drop(struct site_figures *f)
{
	if (f && users_drop(&f->users))
		free(f);
}

void site_figures_share(struct site_figures **to, struct site_figures *f)
{
	if (f)
		users_hold(&f->users);
	site_figures_drop(*to);
	*to = f;
}

/* `count` a site, all 0. */
static void new_figures(struct site_table *t, struct site_marks *k, size_t count)
{
	site_figures_drop(k->figures);
	k->figures = xcalloc(1, sizeof *k->figures + t->count * count * sizeof *k->figures->at);
	k->figures->users = 1;
	for (size_t i = 0; i < t->count; i++)
		t->sites[i]->held[k->which] =
			(struct site_held){ k->figures->at + i * count, count };
}

void sites_at_marks(struct query *q, struct site_table *t, struct site_marks *k,
		    const uint32_t *marks, size_t count)
{
	struct walking w = { .k = k, .a_site = count + 1 };
	struct mark_walk walk = { 0 };

	if (same(q, t, k, marks, count))
		return;
	memcpy(k->marks, marks, count * sizeof *marks);
	k->count = count;
	k->generation = generation(q, k);
	k->version = t->version;
	k->linked = t->linked;
	k->missed = false;
	k->publications++;
	new_figures(t, k, w.a_site);
	w.at = k->figures->at;
	w.site = sites_of_slots(q);
	if (count && k->which == AT_SHAPES)
		sample_walk(q->m, q->raw->slots, &walk, count_slot, &w);
	else if (count)
		mark_walk(q->m, q->raw->slots, &walk, marks[count - 1], count_slot, &w);
	k->missed |= walk.missed;
	mark_walk_end(&walk);
	free(w.site);
	for (size_t i = 0; i < t->count; i++)
		for (size_t p = 1; p < count; p++)
			t->sites[i]->held[k->which].at[p] += t->sites[i]->held[k->which].at[p - 1];
}

void sites_at_samples(struct query *q, struct site_table *t)
{
	const struct sample *list;
	uint32_t serials[MTW_SAMPLES_MAX];
	size_t n = model_samples(q->m, &list);

	for (size_t i = 0; i < n; i++)
		serials[i] = list[i].f.serial;
	sites_at_marks(q, t, &t->at_samples, serials, n);
}

uint64_t site_at_mark(const struct query_site *s, const struct site_marks *k, size_t place)
{
	const struct site_held *h = &s->held[k->which];

	return place < h->at_room ? h->at[place] : 0; /* a site that is new */
}

void site_marks_forget(struct site_marks *k)
{
	uint32_t which = k->which;

	site_figures_drop(k->figures);
	memset(k, 0, sizeof *k);
	k->which = which;
}
