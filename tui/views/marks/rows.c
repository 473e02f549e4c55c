/* SPDX-License-Identifier: MIT
 *
 * rows.c - the rows of Marks: the program's start, its marks, and now.
 *
 * BORN, GONE and NET of a row count from the row above it. For two marks they never change, and the
 * query counts them once; those of `now` are summed at each refresh, and less often where that
 * takes long.
 */
#include "views/marks/marks.h"

#include <stdlib.h>

#define COUNT_SHARE 20 /* counting that took t is followed by at least 20 t without */

static void count_to_now(struct marks *m, struct mark_row *to)
{
	uint64_t begin = now_ns();

	if (query_since_marks(m->v.ui->shown.query, &to->amounts.change))
		to->amounts.changed = KNOWN;
	m->counted_ns = now_ns();
	m->counted_at = watch_instant(m->v.ui->shown.watch);
	m->count_cost_ns = m->counted_ns - begin;
}

/* It visits all slots, so it may use at most a twentieth of the time. */
static bool due(const struct marks *m)
{
	return m->counted_at != watch_instant(m->v.ui->shown.watch) ||
	       now_ns() - m->counted_ns >= m->count_cost_ns * COUNT_SHARE;
}

static void take_change(struct marks *m, struct mark_row *to, const struct mark_row *above)
{
	const struct mark_row *old = m->old_count ? &m->old[m->old_count - 1] : NULL;
	struct amounts *a = &to->amounts;

	if (!above->id) { /* everything alive was born since the start */
		a->change = (struct change){ live_blocks(&a->sum), live_bytes(&a->sum), 0, 0 };
		a->changed = KNOWN;
	} else if (to->id != MARK_NOW) {
		if (above->by_slot && to->by_slot) {
			a->change = m->changes_of[to->id];
			a->changed = KNOWN;
		}
	} else if (old && old->amounts.changed == KNOWN && old->before == above->id && !due(m)) {
		a->change = old->amounts.change;
		a->changed = KNOWN;
		m->v.ui->moved = true; /* counts again when due */
	} else if (above->by_slot) {
		count_to_now(m, to);
	}
	to->before = above->id;
}

static void add_row(struct marks *m, const struct mark_row *row)
{
	GROW(m->rows, m->room, m->count + 1);
	m->rows[m->count] = *row;
	m->rows[m->count].amounts.changed = KNOWN_NONE;
	if (m->count > 0)
		take_change(m, &m->rows[m->count], &m->rows[m->count - 1]);
	m->count++;
}

void marks_gather(struct marks *m)
{
	const struct figures *f = &m->v.ui->shown.figures;
	struct model *model = m->v.ui->shown.model;
	struct mark_row row = { .amounts.live = KNOWN_NONE };

	free(m->old);
	m->old = m->rows;
	m->old_count = m->count;
	m->rows = NULL;
	m->room = m->count = 0;
	uint32_t counted = query_marks(m->v.ui->shown.query, &m->changes_of);
	snprintf(row.name, sizeof row.name, "(program start)");
	add_row(m, &row);
	for (uint32_t id = 1; id < model_mark_limit(model); id++) {
		const struct mark *k = model_mark(model, id);
		if (!k || !k->known || (k->flags & MTW_MARK_DROPPED))
			continue;
		row = (struct mark_row){
			.id = id,
			.time_ns = k->time_ns,
			.rss_bytes = k->rss_bytes,
			.amounts = { .sum = k->totals, .sampled = model_mark_estimate(model, id) },
			.by_slot = id < counted && !(k->flags & MTW_MARK_TOTALS_ONLY)
		};
		snprintf(row.name, sizeof row.name, "%s", k->name);
		snprintf(row.by, sizeof row.by, "%s", k->set_by);
		add_row(m, &row);
	}
	/* A mark arrives before its tick, so its time may be later than the figures'. */
	row = (struct mark_row){ .id = MARK_NOW,
				 .time_ns = row.time_ns > f->at_ns ? row.time_ns : f->at_ns,
				 .rss_bytes = f->rss_bytes,
				 .amounts = { .sum = f->totals.sum,
					      .sampled = model_estimate(model) } };
	add_row(m, &row);
}
