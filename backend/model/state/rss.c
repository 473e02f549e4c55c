/* SPDX-License-Identifier: MIT
 *
 * rss.c - the breakdown of resident memory, for each time that a viewer asked.
 */
#include "model/state/state.h"

#include "base/ages.h"

#include <stdlib.h>

#define LIST_MAX                                                                                   \
	512u /* then they thin out by their age, but the first, and those next to a mark           \
	      */
#define LEFT_MAX (LIST_MAX / 4 * 3)
#define TIMES_MAX (1u << 20) /* of a peer whose clock is no clock */
#define BYTES_MAX ((uint64_t)1 << 48)

static void clear_named(struct rss_answers *x)
{
	for (size_t i = 0; i < x->named_count; i++)
		free(x->named[i].name);
	free(x->named);
	x->named = NULL;
	x->named_count = 0;
}

void rss_clear(struct rss_answers *x)
{
	clear_named(x);
	free(x->list);
	x->list = NULL;
	x->count = x->room = 0;
}

/* The answer nearest to a time; SIZE_MAX = none within RSS_NEAR_NS. */
static size_t next_to(const struct rss_answers *x, uint64_t time_ns)
{
	uint64_t least = RSS_NEAR_NS;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < x->count; i++) {
		uint64_t t = x->list[i].time_ns, apart = t > time_ns ? t - time_ns : time_ns - t;
		if (apart <= least) {
			least = apart;
			best = i;
		}
	}
	return best;
}

const struct rss *rss_at(const struct rss_answers *x, uint64_t time_ns)
{
	size_t i = next_to(x, time_ns);

	return i == SIZE_MAX ? NULL : &x->list[i];
}

/* Those next to a mark; of many the oldest. */
static void keep_marks(const struct rss_answers *x, const struct marks *marks, bool *keep)
{
	size_t wanted = 0;

	for (uint32_t id = 1; id < marks->limit; id++) {
		size_t i = marks->list[id].known ? next_to(x, marks->list[id].time_ns) : SIZE_MAX;
		if (i != SIZE_MAX && wanted < LIST_MAX / 4 && !keep[i])
			wanted += keep[i] = true;
	}
}

/* By the rule of base/ages.h, in cells that are so many times as long. */
static void pass(struct rss_answers *x, const struct marks *marks, uint64_t times)
{
	bool keep[LIST_MAX] = { true };
	uint64_t now = x->list[x->count - 1].time_ns;
	size_t kept = 0;

	keep_marks(x, marks, keep);
	for (size_t i = 0; i < x->count; i++) {
		uint64_t t = x->list[i].time_ns;
		if (keep[i] ||
		    ages_keep(now > t ? now - t : 0, x->list[kept - 1].time_ns, t, times))
			x->list[kept++] = x->list[i];
	}
	x->count = kept;
}

static void thin(struct rss_answers *x, const struct marks *marks)
{
	for (uint64_t times = 1; x->count > LEFT_MAX && times <= TIMES_MAX; times *= 2)
		pass(x, marks, times);
	if (x->count <= LEFT_MAX)
		return;
	x->list[LEFT_MAX - 1] = x->list[x->count - 1];
	x->count = LEFT_MAX;
}

bool rss_apply(struct rss_answers *x, const struct marks *marks, const struct event *e)
{
	struct rss now = { .time_ns = e->u.rss.time_ns };

	clear_named(x);
	x->named = xcalloc(e->u.rss.count, sizeof *x->named);
	for (size_t i = 0; i < e->u.rss.count; i++) {
		const struct rss_read *p = &e->u.rss.parts[i];
		uint32_t what = p->what < MTW_MEMORY_COUNT ? (uint32_t)p->what : MTW_MEMORY_OTHER;
		if (p->bytes > BYTES_MAX || p->mappings > BYTES_MAX)
			continue; /* no process has that much: only a hostile peer sends it */
		now.bytes[what] += p->bytes;
		now.mappings[what] += p->mappings;
		if (p->name.len)
			x->named[x->named_count++] =
				(struct rss_named){ what, xstrndup(p->name.s, p->name.len),
						    p->bytes, p->mappings };
	}
	if (!e->u.rss.count)
		return false; /* the agent could not find out */
	if (x->count == LIST_MAX)
		thin(x, marks);
	GROW(x->list, x->room, x->count + 1);
	x->list[x->count++] = now;
	return true;
}
