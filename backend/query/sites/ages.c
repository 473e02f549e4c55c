/* SPDX-License-Identifier: MIT
 *
 * ages.c - ages of the live blocks of rows and call sites: median and oldest.
 *
 * They come from the agent's last scan. One pass over its cohorts counts blocks by age for the
 * requested rows; a row's cohorts are those of all stacks that run through it. It is made again for
 * another scan, other rows, other names or another filter, not for each tick: ages are seconds old
 * in any case. One over very many blocks takes long: then the last answer stays for a while.
 */
#include "query/sites/ages.h"
#include "query/sites/sites.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define EXACT 32u /* ages below, in seconds, have a bin each; see mtw_age_step() */
#define BINS (EXACT + 27u * 16u)
#define ROWS_ON_PATH 4096u
#define LONG_NS 5000000u
#define PACE_COSTS 4 /* so many times what the last pass took until the next */

struct aging {
	/* the request: */
	bool sites, inverted, filtered;
	uint64_t scan, passing, structure;
	uint32_t *ids;
	size_t count, room;
	struct map place; /* id -> its position + 1 */
	/* the answer: */
	struct age *ages;
	uint64_t version;          /* moves with them */
	uint64_t made_ns, cost_ns; /* when they were made, and how long that took */
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

static bool covers(const struct aging *g, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!map_get(&g->place, ids[i], 0))
			return false;
	return true;
}

static bool same(const struct query *q, const struct aging *g, bool sites, const uint32_t *ids,
		 size_t count)
{
	bool passing = g->passing == q->passing || (!g->filtered && !filter_on(q));

	return g->ages && passing && g->sites == sites && g->inverted == q->inverted &&
	       g->scan == model_cohort_scans(q->m) && g->structure == q->structure &&
	       covers(g, ids, count);
}

static void take_request(struct query *q, struct aging *g, bool sites, const uint32_t *ids,
			 size_t count)
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
	g->structure = q->structure;
	map_clear(&g->place);
	for (size_t i = 0; i < count; i++)
		map_set(&g->place, ids[i], (uint32_t)i + 1);
}

/* The requested rows that include the stack. */
static size_t rows_of(struct query *q, const struct aging *g, uint32_t index, uint32_t *rows)
{
	if (!g->sites)
		return tree_rows_of(q, q->raw->skeleton->node_of[index], rows, ROWS_ON_PATH);
	rows[0] = q->sites ? sites_of_index(q, index) : 0;
	return rows[0] != 0;
}

/* Counts all cohorts of the slot at `at`; returns where the next one's begin. blocks: [count][BINS]
 */
static size_t count_slot(struct query *q, const struct aging *g, const struct cohorts *c, size_t at,
			 uint64_t *blocks, uint32_t *rows)
{
	uint32_t slot = c->list[at].slot;
	const struct slot *s = model_slot(q->m, slot);
	bool known = s && s->known && s->node < q->raw->skeleton->nodes;
	size_t count = known && filter_passed(q, s->node) ? rows_of(q, g, s->node, rows) : 0,
	       kept = 0;

	for (size_t i = 0; i < count; i++)
		if ((rows[kept] = map_get(&g->place, rows[i], 0)))
			kept++;
	for (; at < c->count && c->list[at].slot == slot; at++) {
		const struct cohort *x = &c->list[at];
		for (size_t i = 0; i < kept && filter_takes(q, x); i++)
			blocks[(rows[i] - 1) * BINS + bin_of(x->age_s)] += x->blocks;
	}
	return at;
}

static void count_all(struct query *q, struct aging *g, const struct cohorts *c)
{
	uint64_t *blocks = xcalloc(g->count * BINS + 1, sizeof *blocks);
	uint32_t *rows = xmalloc(ROWS_ON_PATH * sizeof *rows);

	for (size_t at = 0; at < c->count;)
		at = count_slot(q, g, c, at, blocks, rows);
	free(g->ages);
	g->ages = xcalloc(g->count + 1, sizeof *g->ages);
	for (size_t i = 0; i < g->count; i++)
		g->ages[i] = summary(blocks + i * BINS);
	g->version++;
	free(rows);
	free(blocks);
}

static bool must_wait(const struct aging *g)
{
	return g->ages && g->cost_ns > LONG_NS && now_ns() - g->made_ns < PACE_COSTS * g->cost_ns;
}

void query_ages(struct query *q, bool sites, const uint32_t *ids, size_t count, struct age *out)
{
	const struct cohorts *c = model_cohorts(q->m);
	struct aging *g = q->aging ? q->aging : (q->aging = xcalloc(1, sizeof *g));

	memset(out, 0, count * sizeof *out);
	if (!c)
		return;
	tree_now(q);
	if (!same(q, g, sites, ids, count) && !must_wait(g)) {
		uint64_t began = now_ns();
		take_request(q, g, sites, ids, count);
		count_all(q, g, c);
		g->made_ns = now_ns();
		g->cost_ns = g->made_ns - began;
	}
	bool of_these = g->ages && g->sites == sites && g->inverted == q->inverted;
	for (size_t i = 0; i < count && of_these; i++) {
		uint32_t at = map_get(&g->place, ids[i], 0);
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
	bool known = g && g->ages && g->sites == sites && (sites || g->inverted == q->inverted);
	uint32_t at = known ? map_get(&g->place, id, 0) : 0;

	if (!at || !g->ages[at - 1].known)
		return reverse ? INT64_MAX : -1;
	return by == BY_OLDEST ? g->ages[at - 1].oldest_s : g->ages[at - 1].median_s;
}

/* Rows and sites were replaced: clears all ages. */
void ages_forget(struct query *q)
{
	struct aging *g = q->aging;

	if (!g)
		return;
	map_release(&g->place);
	free(g->ids);
	free(g->ages);
	free(g);
	q->aging = NULL;
}
