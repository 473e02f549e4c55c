/* SPDX-License-Identifier: MIT
 *
 * ages.c - ages of the live blocks of rows and call sites: median and oldest.
 *
 * They come from the agent's last scan. Its cohorts are put into the order of stacks once, with
 * running sums by age, so that those of a subtree are the difference of two. A row's are those of
 * all its members; they are counted when the row is first asked for, and again for another scan,
 * other names or another filter, not for each tick: ages are seconds old in any case. What takes
 * long is not done again at once: then the last answer stays for a while.
 */
#include "query/sites/ages.h"
#include "model/state/cohorts.h"
#include "query/sites/sites.h"
#include "query/tree/group.h"
#include "query/tree/row.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define EXACT 32u /* ages below, in seconds, have a bin each; see mtw_age_step() */
#define BINS (EXACT + 27u * 16u)
#define STRIDE 8192u /* entries between two running sums */
#define LONG_NS 5000000u
#define OLD_NS 5000000000u /* a call tree that others have left is held no longer */
#define PACE_COSTS 4       /* so many times what the last pass took until the next */

struct aging {
	/* What passes of a scan, by stack: entries first[k] .. first[k + 1] - 1 are those of k. */
	uint64_t scan, passing, taken_ns;
	bool filtered;
	struct skeleton *skeleton; /* held */
	struct entry {
		uint64_t bin : 9, blocks : 55;
	} * entries;
	uint32_t *first;
	uint64_t *running; /* [BINS] of the entries before STRIDE * i */
	/* The answers: */
	bool sites, inverted;
	uint64_t structure;
	struct map place; /* id -> its position + 1 */
	struct age *ages;
	size_t count, room;
	uint64_t version;          /* moves with them */
	uint64_t made_ns, cost_ns; /* when they were made anew, and how long that took */
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

static void forget_scan(struct aging *g)
{
	skeleton_drop(g->skeleton);
	free(g->entries);
	free(g->first);
	free(g->running);
	g->skeleton = NULL;
	g->entries = NULL;
	g->first = NULL;
	g->running = NULL;
}

/* The next cohort that passes. */
static bool next_passing(const struct query *q, const struct aging *g, const struct cohorts *c,
			 struct cohort_at *at, struct cohort *x, uint32_t *stack)
{
	while (cohorts_next(c, at, x)) {
		*stack = slots_stack(q->raw->slots, x->slot);
		if (*stack != NO_ID && filter_passed(q, g->skeleton->node_of_stack[*stack]) &&
		    filter_takes(q, x))
			return true;
	}
	return false;
}

static void add_up(struct aging *g, size_t count)
{
	g->running = xcalloc((count / STRIDE + 1) * BINS, sizeof *g->running);
	for (size_t i = 0; i < count; i++) {
		uint64_t *to = g->running + (i / STRIDE + 1) * BINS;

		if (i / STRIDE == count / STRIDE)
			break;
		if (i % STRIDE == 0)
			memcpy(to, to - BINS, BINS * sizeof *to);
		to[g->entries[i].bin] += g->entries[i].blocks;
	}
}

static void take_scan(const struct query *q, struct aging *g, const struct cohorts *c)
{
	forget_scan(g);
	g->scan = model_cohort_scans(q->m);
	g->passing = q->passing;
	g->taken_ns = now_ns();
	g->filtered = filter_on(q);
	g->skeleton = skeleton_hold(q->raw->skeleton);
	uint32_t stacks = g->skeleton->stacks;
	g->first = xcalloc(stacks + 2ul, sizeof *g->first);
	uint32_t *next = g->first + 1, stack; /* of a stack, while entries are placed */
	struct cohort x;
	for (struct cohort_at at = { 0 }; next_passing(q, g, c, &at, &x, &stack);)
		if (stack + 1 < stacks)
			next[stack + 1]++;
	for (uint32_t k = 1; k < stacks; k++)
		next[k] += next[k - 1];
	g->entries = xmalloc((c->count + 1) * sizeof *g->entries);
	for (struct cohort_at at = { 0 }; next_passing(q, g, c, &at, &x, &stack);)
		g->entries[next[stack]++] = (struct entry){ bin_of(x.age_s), x.blocks };
	g->entries = xrealloc(g->entries, (g->first[stacks] + 1ul) * sizeof *g->entries);
	add_up(g, g->first[stacks]);
}

static void add_entries(const struct aging *g, uint32_t from, uint32_t to, uint64_t *blocks)
{
	uint32_t a = (from + STRIDE - 1) / STRIDE, b = to / STRIDE;

	if (a < b) {
		for (uint32_t i = 0; i < BINS; i++)
			blocks[i] +=
				g->running[(size_t)b * BINS + i] - g->running[(size_t)a * BINS + i];
		add_entries(g, b * STRIDE, to, blocks);
		to = a * STRIDE;
	}
	for (uint32_t i = from; i < to; i++)
		blocks[g->entries[i].bin] += g->entries[i].blocks;
}

/* A node of the call tree as it is now, in that of the scan; NO_ID = it came since. */
static uint32_t node_then(const struct query *q, const struct aging *g, uint32_t node)
{
	if (g->skeleton == q->raw->skeleton || !node)
		return node;
	return skeleton_find(g->skeleton, q->raw->skeleton->id[node]);
}

static void add_member(const struct query *q, const struct aging *g, const struct trow *r,
		       const struct member *m, uint64_t *blocks)
{
	const struct skeleton *s = g->skeleton;
	uint32_t node = node_then(q, g, r->inverted ? m->leaf : m->node);

	if (node == NO_ID || (r->inverted && !bit_of(s->stack_bits, node)))
		return;
	uint32_t from = skeleton_first(s, node);
	add_entries(g, g->first[from], g->first[r->inverted ? from + 1 : skeleton_last(s, node)],
		    blocks);
}

static void age_rows(struct query *q, struct aging *g, const uint32_t *ids, size_t count)
{
	uint64_t blocks[BINS];

	for (size_t i = 0; i < count; i++) {
		uint32_t number = row_now(q, ids[i]);
		const struct trow *r = q->rows[number];

		if (number)
			group_place(q, number);
		memset(blocks, 0, sizeof blocks);
		for (uint32_t k = 0; number && !r->rest && k < r->member_count; k++)
			add_member(q, g, r, &r->members[k], blocks);
		g->ages[map_get(&g->place, ids[i], 0) - 1] = summary(blocks);
	}
}

static void age_sites(struct query *q, struct aging *g, const uint32_t *ids, size_t count)
{
	uint64_t *blocks = xcalloc(count * BINS + 1, sizeof *blocks);
	size_t sites = q->sites ? q->sites->count : 0;
	uint32_t *at = xcalloc(sites + 1, sizeof *at); /* by id: where its blocks are */

	for (size_t i = 0; i < count; i++)
		if (ids[i] <= sites)
			at[ids[i]] = (uint32_t)i + 1;
	uint32_t *site = sites ? sites_of_stacks(q->sites, g->skeleton) : NULL;
	for (uint32_t k = 0; site && k < g->skeleton->stacks; k++) {
		uint32_t to = at[site[k]];
		if (to)
			add_entries(g, g->first[k], g->first[k + 1], blocks + (to - 1) * BINS);
	}
	for (size_t i = 0; i < count; i++)
		g->ages[map_get(&g->place, ids[i], 0) - 1] = summary(blocks + i * BINS);
	free(site);
	free(blocks);
	free(at);
}

static bool scan_stands(const struct query *q, const struct aging *g)
{
	bool old = g->skeleton != q->raw->skeleton && now_ns() - g->taken_ns >= OLD_NS;

	return g->skeleton && g->scan == model_cohort_scans(q->m) && !old &&
	       (g->passing == q->passing || (!g->filtered && !filter_on(q)));
}

/* Rows of another tree have nothing of the last answer. */
static bool of_these(const struct query *q, const struct aging *g, bool sites)
{
	return g->skeleton && g->sites == sites && (sites || g->inverted == q->inverted);
}

static bool must_wait(const struct aging *g)
{
	return g->cost_ns > LONG_NS && now_ns() - g->made_ns < PACE_COSTS * g->cost_ns;
}

static void answer(struct query *q, struct aging *g, const uint32_t *ids, size_t count)
{
	uint32_t *lack = xmalloc((count + 1) * sizeof *lack);
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!map_get(&g->place, ids[i], 0)) {
			map_set(&g->place, ids[i], (uint32_t)++g->count);
			lack[n++] = ids[i];
		}
	GROW(g->ages, g->room, g->count + 1);
	if (n)
		(g->sites ? age_sites : age_rows)(q, g, lack, n);
	g->version += n != 0;
	free(lack);
}

static void answer_anew(struct query *q, struct aging *g, bool sites, const uint32_t *ids,
			size_t count)
{
	uint64_t began = now_ns();

	if (!scan_stands(q, g))
		take_scan(q, g, model_cohorts(q->m));
	g->sites = sites;
	g->inverted = q->inverted;
	g->structure = q->structure;
	map_clear(&g->place);
	g->count = 0;
	answer(q, g, ids, count);
	g->made_ns = now_ns();
	g->cost_ns = g->made_ns - began;
}

void query_ages(struct query *q, bool sites, const uint32_t *ids, size_t count, struct age *out)
{
	struct aging *g = q->aging ? q->aging : (q->aging = xcalloc(1, sizeof *g));

	memset(out, 0, count * sizeof *out);
	if (!model_cohorts(q->m))
		return;
	tree_now(q);
	bool stands = scan_stands(q, g) && g->structure == q->structure;
	if (!of_these(q, g, sites) || (!stands && !must_wait(g)))
		answer_anew(q, g, sites, ids, count);
	else
		answer(q, g, ids, count);
	for (size_t i = 0; i < count; i++)
		out[i] = g->ages[map_get(&g->place, ids[i], 1) - 1];
}

uint64_t query_ages_version(const struct query *q)
{
	return q->aging ? q->aging->version : 0;
}

int64_t ages_key(const struct query *q, bool sites, uint32_t id, enum query_column by, bool reverse)
{
	const struct aging *g = q->aging;
	uint32_t at = g && of_these(q, g, sites) ? map_get(&g->place, id, 0) : 0;

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
	forget_scan(g);
	map_release(&g->place);
	free(g->ages);
	free(g);
	q->aging = NULL;
}
