/* SPDX-License-Identifier: MIT
 *
 * series.c - see series.h. Times never go back: a point that is not later than the last replaces
 * it.
 */
#include "series.h"

#include <string.h>

void series_clear(struct series *s)
{
	s->count = s->from_agent = s->owner_count = 0;
	s->spacing_ns = 0;
}

/* The agent's points replace what was there: they reach further back and end now. */
void series_start(struct series *s, uint64_t spacing_ns, const uint32_t *owners, size_t count)
{
	series_clear(s);
	s->spacing_ns = spacing_ns;
	s->owner_count = count;
	memcpy(s->owners, owners, count * sizeof *owners);
}

static void thin(struct series *s)
{
	size_t kept = 0, agent = 0;

	for (size_t i = 0; i < s->count; i += 2) {
		s->points[kept] = s->points[i];
		if (i < s->from_agent) {
			memmove(s->owner_bytes[kept], s->owner_bytes[i], sizeof s->owner_bytes[0]);
			agent++;
		}
		kept++;
	}
	s->count = kept;
	s->from_agent = agent;
	/* Half of what remains is what the kept points' own distances say it is. */
	uint64_t span = s->points[kept - 1].time_ns - s->points[0].time_ns;
	s->spacing_ns = kept > 1 ? span / (kept - 1) : 0;
}

void series_agent(struct series *s, const struct point *p, const uint64_t *owner_bytes)
{
	if (s->count && p->time_ns <= s->points[s->count - 1].time_ns)
		return;
	if (s->count == SERIES_MAX)
		thin(s);
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
	bool provisional = n > s->from_agent && n > 1 &&
			   s->points[n - 1].time_ns - s->points[n - 2].time_ns < s->spacing_ns;
	if (provisional) {
		s->points[n - 1] = *p;
		return;
	}
	if (n == SERIES_MAX)
		thin(s);
	s->points[s->count++] = *p;
}
