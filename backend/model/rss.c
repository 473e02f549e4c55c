/* SPDX-License-Identifier: MIT
 *
 * rss.c - of what the resident memory consisted, each time that somebody asked.
 */
#include "model/internal.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX 512u /* then every second one goes, but the first, and those next to a mark */
#define BYTES_MAX ((uint64_t)1 << 48)

static void clear_named(struct model *m)
{
	for (size_t i = 0; i < m->rss_named_count; i++)
		free(m->rss_named[i].name);
	free(m->rss_named);
	m->rss_named = NULL;
	m->rss_named_count = 0;
}

void rss_clear(struct model *m)
{
	clear_named(m);
	free(m->rss_list);
	m->rss_list = NULL;
	m->rss_count = m->rss_room = 0;
}

/* The answer next to a time; SIZE_MAX = none within RSS_NEAR_NS. */
static size_t next_to(const struct model *m, uint64_t time_ns)
{
	uint64_t least = RSS_NEAR_NS;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < m->rss_count; i++) {
		uint64_t t = m->rss_list[i].time_ns,
			 apart = t > time_ns ? t - time_ns : time_ns - t;
		if (apart <= least) {
			least = apart;
			best = i;
		}
	}
	return best;
}

const struct rss *model_rss_at(const struct model *m, uint64_t time_ns)
{
	size_t i = next_to(m, time_ns);

	return i == SIZE_MAX ? NULL : &m->rss_list[i];
}

static void thin(struct model *m)
{
	bool keep[LIST_MAX] = { true };
	size_t kept = 0, wanted = 0;

	for (uint32_t id = 1; id < m->mark_limit; id++) {
		size_t i = m->marks[id].known ? next_to(m, m->marks[id].time_ns) : SIZE_MAX;
		if (i != SIZE_MAX && wanted < LIST_MAX / 4 && !keep[i])
			wanted += keep[i] = true;
	}
	for (size_t i = 0; i < m->rss_count; i++)
		if (keep[i] || i % 2 == 0)
			m->rss_list[kept++] = m->rss_list[i];
	m->rss_count = kept;
}

void rss_apply(struct model *m, const struct event *e)
{
	struct rss now = { .time_ns = e->u.rss.time_ns };

	clear_named(m);
	m->rss_named = xcalloc(e->u.rss.count, sizeof *m->rss_named);
	for (size_t i = 0; i < e->u.rss.count; i++) {
		const struct rss_read *p = &e->u.rss.parts[i];
		uint32_t what = p->what < MTW_MEMORY_COUNT ? (uint32_t)p->what : MTW_MEMORY_OTHER;
		if (p->bytes > BYTES_MAX || p->mappings > BYTES_MAX)
			continue; /* no process has that: only a peer that lies says so */
		now.bytes[what] += p->bytes;
		now.mappings[what] += p->mappings;
		if (p->name.len)
			m->rss_named[m->rss_named_count++] =
				(struct rss_named){ what, xstrndup(p->name.s, p->name.len),
						    p->bytes, p->mappings };
	}
	if (!e->u.rss.count) { /* the agent could not find out */
		m->answers[MTW_KIND_MEMORY]++;
		return;
	}
	if (m->rss_count == LIST_MAX)
		thin(m);
	GROW(m->rss_list, m->rss_room, m->rss_count + 1);
	m->rss_list[m->rss_count++] = now;
	instants_looked(m, MTW_KIND_MEMORY, now.time_ns);
}

size_t model_rss(const struct model *m, const struct rss **list)
{
	*list = m->rss_list;
	return m->rss_count;
}

const struct rss *model_rss_newest(const struct model *m)
{
	return m->rss_count ? &m->rss_list[m->rss_count - 1] : NULL;
}

size_t model_rss_named(const struct model *m, const struct rss_named **list)
{
	*list = m->rss_named;
	return m->rss_named_count;
}
