/* SPDX-License-Identifier: MIT
 *
 * ages.c - ages of the live blocks of rows and call sites: median and oldest.
 *
 * They come from the agent's last scan. One pass over its cohorts counts blocks by age for the
 * requested rows; a row's cohorts are those of all stacks that run through it. Each call continues
 * the pass as far as query_allow() permits and returns the previous ages meanwhile: ages are
 * seconds old in any case.
 */
#include "query/sites/ages.h"
#include "query/sites/sites.h"
#include "query/steps.h"
#include "query/tree/place.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define EXACT 32u /* ages below, in seconds, have a bin each; see mtw_age_step() */
#define BINS (EXACT + 27u * 16u)
#define SITE_STEPS 2u      /* of query_allow(), to find the site of a stack */
#define COHORTS_A_STEP 16u /* and rows of each */
#define ROWS_ON_PATH 4096u

struct aging {
	/* the pass' request: */
	bool sites, inverted, filtered;
	uint64_t scan, passing, names;
	uint32_t *ids;
	size_t count, room;
	struct map place; /* id -> its position + 1 */
	uint64_t *blocks; /* [count][BINS] */
	size_t at;        /* cohorts before this one are counted */
	bool whole;
	/* results: */
	struct map known; /* id -> position + 1 in ages */
	struct age *ages;
	bool known_sites, known_inverted;
	uint64_t version; /* moves with them */
};

static uint32_t bin_of(uint32_t seconds)
{
	unsigned dropped = seconds < EXACT ? 0 : 27u - (unsigned)__builtin_clz(seconds);

	return dropped * 16 + (seconds >> dropped);
}

static uint32_t age_of(uint32_t bin)
{
	unsigned dropped = bin < EXACT ? 0 : bin / 16 - 1;

	return (bin - dropped * 16) << dropped;
}

static struct age summary(const uint64_t *blocks)
{
	struct age a = { 0 };
	uint64_t all = 0, below = 0;

	for (uint32_t i = 0; i < BINS; i++) {
		all += blocks[i];
		if (blocks[i])
			a.oldest_s = age_of(i);
	}
	for (uint32_t i = 0; i < BINS && all; i++) {
		below += blocks[i];
		if (below >= all - all / 2) {
			a.median_s = age_of(i);
			break;
		}
	}
	a.known = all != 0;
	return a;
}

static void publish(struct aging *g)
{
	free(g->ages);
	g->ages = xcalloc(g->count, sizeof *g->ages);
	map_clear(&g->known);
	for (size_t i = 0; i < g->count; i++) {
		g->ages[i] = summary(g->blocks + i * BINS);
		map_set(&g->known, g->ids[i], (uint32_t)i + 1);
	}
	g->known_sites = g->sites;
	g->known_inverted = g->inverted;
	g->whole = true;
	g->version++;
}

static void start(struct query *q, struct aging *g, bool sites, const uint32_t *ids, size_t count)
{
	GROW(g->ids, g->room, count);
	if (count)
		memcpy(g->ids, ids, count * sizeof *ids);
	g->count = count;
	g->sites = sites;
	g->inverted = q->inverted;
	g->scan = model_cohort_scans(q->m);
	g->passing = q->passing;
	g->filtered = filter_on(q);
	g->names = tree_version(q);
	map_clear(&g->place);
	for (size_t i = 0; i < count; i++)
		map_set(&g->place, ids[i], (uint32_t)i + 1);
	free(g->blocks);
	g->blocks = xcalloc(count * BINS, sizeof *g->blocks);
	g->at = 0;
	g->whole = false;
}

static bool covers(const struct aging *g, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!map_get(&g->place, ids[i], 0))
			return false;
	return true;
}

/* Does the pass still answer the request? Names and rows that arrive meanwhile do not restart
 * it: it would never end. */
static bool same(const struct query *q, const struct aging *g, bool sites, const uint32_t *ids,
		 size_t count)
{
	bool passing = g->passing == q->passing || (!g->filtered && !filter_on(q));

	if (!g->blocks || !passing || g->sites != sites || g->inverted != q->inverted ||
	    g->scan != model_cohort_scans(q->m))
		return false;
	return !g->whole || (g->names == tree_version(q) && covers(g, ids, count));
}

/* The requested rows that include the stack. */
static size_t rows_of(struct query *q, const struct aging *g, uint32_t index, uint32_t *rows)
{
	if (!g->sites)
		return place_rows_of(q, index, rows, ROWS_ON_PATH);
	rows[0] = q->sites ? sites_of_index(q, index) : 0;
	return rows[0] != 0;
}

/* Counts all cohorts of the next slot. */
static void count_slot(struct query *q, struct aging *g, const struct cohorts *c)
{
	static uint32_t rows[ROWS_ON_PATH]; /* main thread only */
	uint32_t slot = c->list[g->at].slot;
	const struct slot *s = model_slot(q->m, slot);
	bool known = s && s->known;
	size_t count = known && filter_passed(q, s->node) ? rows_of(q, g, s->node, rows) : 0,
	       kept = 0;

	if (known)
		spend_steps(q, g->sites ? SITE_STEPS : FOLLOW_STEPS);
	for (size_t i = 0; i < count; i++)
		if ((rows[kept] = map_get(&g->place, rows[i], 0)))
			kept++;
	size_t from = g->at;
	for (; g->at < c->count && c->list[g->at].slot == slot; g->at++) {
		const struct cohort *x = &c->list[g->at];
		for (size_t i = 0; i < kept && filter_takes(q, x); i++)
			g->blocks[(rows[i] - 1) * BINS + bin_of(x->age_s)] += x->blocks;
	}
	spend_steps(q, (g->at - from) * (kept + 1) / COHORTS_A_STEP);
}

void query_ages(struct query *q, bool sites, const uint32_t *ids, size_t count, struct age *out)
{
	const struct cohorts *c = model_cohorts(q->m);
	struct aging *g = q->aging ? q->aging : (q->aging = xcalloc(1, sizeof *g));

	memset(out, 0, count * sizeof *out);
	if (!c)
		return;
	if (!same(q, g, sites, ids, count))
		start(q, g, sites, ids, count);
	while (g->at < c->count && take_step(q))
		count_slot(q, g, c);
	if (g->at == c->count && !g->whole)
		publish(g);
	for (size_t i = 0; i < count && g->known_sites == sites && g->known_inverted == q->inverted;
	     i++) {
		uint32_t at = map_get(&g->known, ids[i], 0);
		if (at)
			out[i] = g->ages[at - 1];
	}
}

uint64_t query_ages_version(const struct query *q)
{
	return q->aging ? q->aging->version : 0;
}

int64_t ages_key(const struct query *q, bool sites, uint32_t id, enum query_column by, bool reverse)
{
	const struct aging *g = q->aging;
	uint32_t at = g && g->known_sites == sites && (sites || g->known_inverted == q->inverted)
			      ? map_get(&g->known, id, 0)
			      : 0;

	if (!at || !g->ages[at - 1].known)
		return reverse ? INT64_MAX : -1;
	return by == BY_OLDEST ? g->ages[at - 1].oldest_s : g->ages[at - 1].median_s;
}

size_t ages_left(const struct query *q)
{
	const struct cohorts *c = model_cohorts(q->m);
	const struct aging *g = q->aging;

	return c && g && !g->whole && g->at < c->count ? c->count - g->at : 0;
}

/* Rows and sites were replaced: clears all ages. */
void ages_forget(struct query *q)
{
	struct aging *g = q->aging;

	if (!g)
		return;
	map_release(&g->place);
	map_release(&g->known);
	free(g->ids);
	free(g->blocks);
	free(g->ages);
	free(g);
	q->aging = NULL;
}
