/* SPDX-License-Identifier: MIT
 *
 * series.c - see model/history/history.h. Times never go back: a point not later than the last
 * replaces it. Thinning is one pass over all points, once in hundreds of ticks. A point kept for
 * its distance is kept again until an older age needs a wider one.
 */
#include "model/history/history.h"

#include "base/ages.h"

#include <string.h>

#define NS 1000000000ull
#define ROOM_FOR_NEW 600u /* room that a pass must leave free */
#define FIRST_SPACING_NS (20 * NS)
#define LEAST_SPACING_NS (NS / 10)

void series_clear(struct series *s)
{
	s->count = s->from_agent = s->owner_count = 0;
	s->spacing_ns = 0;
}

/* The agent's points replace the old ones: they reach further back and end now. */
void series_start(struct series *s, const uint32_t *owners, size_t count)
{
	series_clear(s);
	s->owner_count = count;
	memcpy(s->owners, owners, count * sizeof *owners);
}

/* The minimum distance of a point of this age to the previous one; ticks are not punctual. */
static uint64_t apart(const struct series *s, uint64_t age_ns)
{
	uint64_t ns = age_ns < AGES_FINE_NS ? ages_apart(age_ns) : s->spacing_ns;

	ns = ns > LEAST_SPACING_NS ? ns : LEAST_SPACING_NS;
	return ns - ns / 8;
}

static void pass(struct series *s)
{
	uint64_t now = s->points[s->count - 1].time_ns;
	size_t kept = 1, agent = s->from_agent ? 1 : 0;

	for (size_t i = 1; i < s->count; i++) {
		uint64_t t = s->points[i].time_ns;
		if (i + 1 < s->count && t - s->points[kept - 1].time_ns < apart(s, now - t))
			continue;
		s->points[kept] = s->points[i];
		if (i < s->from_agent) {
			memmove(s->owner_bytes[kept], s->owner_bytes[i], sizeof s->owner_bytes[0]);
			agent++;
		}
		kept++;
	}
	s->count = kept;
	s->from_agent = agent;
}

static void thin(struct series *s)
{
	if (!s->spacing_ns)
		s->spacing_ns = FIRST_SPACING_NS;
	for (pass(s); s->count > SERIES_MAX - ROOM_FOR_NEW; pass(s)) {
		if (s->spacing_ns > UINT64_MAX / 4)
			/* of a peer whose clock is no clock */
			s->count = SERIES_MAX - ROOM_FOR_NEW;
		else
			s->spacing_ns *= 2;
	}
	if (s->from_agent > s->count)
		s->from_agent = s->count;
}

void series_agent(struct series *s, const struct point *p, const uint64_t *owner_bytes)
{
	if (s->count && p->time_ns <= s->points[s->count - 1].time_ns)
		return;
	if (s->count != s->from_agent || s->count == SERIES_AGENT_MAX)
		return; /* they come together, and are no more */
	memset(s->owner_bytes[s->count], 0, sizeof s->owner_bytes[0]);
	memcpy(s->owner_bytes[s->count], owner_bytes, s->owner_count * sizeof *owner_bytes);
	s->points[s->count++] = *p;
	s->from_agent = s->count;
}

void series_tick(struct series *s, const struct point *p)
{
	size_t n = s->count;

	if (n && p->time_ns <= s->points[n - 1].time_ns) {
		uint64_t time_ns = s->points[n - 1].time_ns;
		s->points[n - 1] = *p;
		s->points[n - 1].time_ns = time_ns;
		return;
	}
	if (n == SERIES_MAX)
		thin(s);
	s->points[s->count++] = *p;
}

void series_join(struct series *s, const struct series *more)
{
	for (size_t i = 0; i < more->count; i++)
		if (!s->count || more->points[i].time_ns > s->points[s->count - 1].time_ns)
			series_tick(s, &more->points[i]);
}
