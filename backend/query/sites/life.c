/* SPDX-License-Identifier: MIT
 *
 * life.c - how long the blocks of call sites live.
 *
 * LIFE is the mean, by Little's law: L = lambda W, mean live blocks = blocks freed per second times
 * their mean lifetime (J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", Operations
 * Research 9 (3), 1961; for finite intervals: "Little's Law as Viewed on Its 50th Anniversary",
 * ibid. 59 (3), 2011, theorem LL.2). So W = sum over time of the live blocks / blocks freed, and no
 * block is looked at. The law needs an interval whose ends do not matter, so LIFE is given only
 * when
 *   - as many blocks came as went, within a tenth, and some twenty at least;
 *   - all live blocks could have been replaced in it: freed >= mean live (else ten minutes are
 *     tried in place of ten seconds);
 *   - they went throughout, not in one burst between two looks (in ten minutes: they live far
 *     longer than the time between two looks);
 *   - memtop looked often enough, and no stack of the site came from another site, or went to one,
 *     because of its name.
 * Blocks that stay are live, too: for a site with both kinds, LIFE is an upper bound for those that
 * go. Where nothing was freed for a minute and more, memtop says so instead.
 *
 * It covers all stacks of the site, whatever the filter shows, as shapes do.
 */
#include "query/sites/life.h"
#include "query/sites/sites.h"

#include <string.h>

#define NS 1000000000ull
#define QUIET_NS (60 * NS) /* without a free: told */
#define LONG_NS (2 * NS)   /* against the time between two looks */
#define FREES_MIN 20u
#define LOOKS_MIN 8u

/* The windows; between two points, the older ones are dropped first. */
static const struct {
	uint64_t apart_ns, least_ns;
} windows[FLOW_WINDOWS] = {
	{ 2 * NS, 5 * NS },
	{ 120 * NS, 60 * NS },
};

static struct flow flow_now(const struct query_site *s)
{
	const struct tally *t = &s->all.sum;

	return (struct flow){ t->alloc_blocks, t->free_blocks, s->block_ns };
}

/* Adds a point to all sites; none while the program's state is incomplete. */
static void take_points(const struct query *q, struct site_table *t)
{
	uint64_t now = model_running(q->m, model_time(q->m));

	if (!model_complete(q->m))
		return;
	for (int w = 0; w < FLOW_WINDOWS; w++) {
		struct flow_times *f = &t->flow[w];
		if (f->count && now >= f->ns[f->count - 1] &&
		    now < f->ns[f->count - 1] + windows[w].apart_ns)
			continue;
		if (f->count && now < f->ns[f->count - 1])
			f->count = 0; /* an earlier instant is shown */
		bool full = f->count == FLOW_POINTS;
		if (full) {
			memmove(f->ns, f->ns + 1, (FLOW_POINTS - 1) * sizeof *f->ns);
			memmove(f->looks, f->looks + 1, (FLOW_POINTS - 1) * sizeof *f->looks);
		}
		size_t at = full ? FLOW_POINTS - 1 : f->count++;
		f->ns[at] = now;
		f->looks[at] = t->looks;
		for (size_t i = 0; i < t->count; i++) {
			struct flow *p = t->sites[i]->flow[w];
			if (full)
				memmove(p, p + 1, (FLOW_POINTS - 1) * sizeof *p);
			p[at] = flow_now(t->sites[i]);
		}
	}
}

void life_forget(struct site_table *t)
{
	memset(t->flow, 0, sizeof t->flow);
	for (size_t i = 0; i < t->count; i++)
		t->sites[i]->moved = true;
}

/* Adds the time since the last look, with the mean of both looks' live blocks. */
static void look(struct query_site *s, uint64_t now)
{
	uint64_t live = live_blocks(&s->all.sum), freed = s->all.sum.free_blocks;
	/* an earlier instant, or another program's clock */
	bool anew = s->moved || s->looked_ns > now;

	if (anew) {
		s->since_ns = now;
		s->block_ns = 0;
	} else if (s->looked_ns) { /* one that is new has nothing before */
		s->block_ns +=
			((double)s->looked_live + (double)live) / 2 * (double)(now - s->looked_ns);
	}
	if (anew || !s->looked_live || freed != s->looked_freed)
		s->quiet_ns = now;
	s->moved = false;
	s->looked_ns = now;
	s->looked_live = live;
	s->looked_freed = freed;
}

/* The oldest point with the same stacks; false: none is old enough. */
static bool begin_of(const struct site_table *t, const struct query_site *s, int w, uint64_t now,
		     size_t *from)
{
	const struct flow_times *f = &t->flow[w];

	for (*from = 0; *from < f->count && f->ns[*from] < s->since_ns;)
		++*from;
	return *from < f->count && now >= f->ns[*from] &&
	       now - f->ns[*from] >= windows[w].least_ns && t->looks - f->looks[*from] >= LOOKS_MIN;
}

/* For the short window: its parts have a few looks each. */
static bool burst(const struct site_table *t, const struct query_site *s, size_t from,
		  uint64_t freed)
{
	const struct flow *at = s->flow[0];

	for (size_t i = from; i < t->flow[0].count; i++) {
		uint64_t to =
			i + 1 < t->flow[0].count ? at[i + 1].free_blocks : s->all.sum.free_blocks;
		if (to - at[i].free_blocks > freed / 2)
			return true;
	}
	return false;
}

/* False: the law does not apply to this window. */
static bool life_of(const struct site_table *t, struct query_site *s, int w, size_t first,
		    uint64_t ns)
{
	struct flow to = flow_now(s);
	const struct flow *from = &s->flow[w][first];
	uint64_t came = to.alloc_blocks - from->alloc_blocks,
		 went = to.free_blocks - from->free_blocks;
	uint64_t differ = came > went ? came - went : went - came;
	double sum = to.block_ns - from->block_ns;

	if (went < FREES_MIN || differ > went / 10 || sum > (double)went * (double)ns)
		return false;
	if (w ? sum < (double)went * (double)LONG_NS : burst(t, s, first, went))
		return false;
	/* None was ever seen alive: less than one on the mean. */
	s->pub.life = sum > 0 ? LIFE_ABOUT : LIFE_BELOW;
	s->pub.life_ns = (uint64_t)((sum > 0 ? sum : (double)ns) / (double)went);
	return true;
}

static void judge(const struct site_table *t, struct query_site *s, uint64_t now)
{
	size_t from;

	s->pub.life = LIFE_UNKNOWN;
	for (int w = 0; w < FLOW_WINDOWS; w++) {
		if (!begin_of(t, s, w, now, &from))
			continue;
		uint64_t ns = now - t->flow[w].ns[from];
		if (life_of(t, s, w, from, ns))
			return;
	}
	if (s->looked_live && now - s->quiet_ns >= QUIET_NS) {
		s->pub.life = LIFE_ABOVE;
		s->pub.life_ns = now - s->quiet_ns;
	}
}

void life_update(struct query *q, struct site_table *t)
{
	uint64_t now = model_running(q->m, model_time(q->m));

	t->looks++;
	for (size_t i = 0; i < t->count; i++)
		look(t->sites[i], now);
	take_points(q, t);
	for (size_t i = 0; i < t->count; i++)
		judge(t, t->sites[i], now);
}
