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

	to->change_known = query_since_marks(m->v.ui->shown.query, &to->change);
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

	if (!above->id) { /* everything alive was born since the start */
		to->change = (struct change){ live_blocks(&to->sum), live_bytes(&to->sum), 0, 0 };
		to->change_known = true;
	} else if (to->id != MARK_NOW) {
		to->change_known = above->by_slot && to->by_slot;
		if (to->change_known)
			to->change = m->changes_of[to->id];
	} else if (old && old->change_known && old->before == above->id && !due(m)) {
		to->change = old->change;
		to->change_known = true;
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
	if (m->count > 0)
		take_change(m, &m->rows[m->count], &m->rows[m->count - 1]);
	m->count++;
}

void marks_gather(struct marks *m)
{
	const struct figures *f = &m->v.ui->shown.figures;
	struct model *model = m->v.ui->shown.model;
	struct mark_row row = { .id = 0 };

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
		row = (struct mark_row){ .id = id,
					 .time_ns = k->time_ns,
					 .rss_bytes = k->rss_bytes,
					 .sum = k->totals,
					 .by_slot =
						 id < counted && !(k->flags & MTW_MARK_TOTALS_ONLY),
					 .estimate = model_mark_estimate(model, id) };
		snprintf(row.name, sizeof row.name, "%s", k->name);
		snprintf(row.by, sizeof row.by, "%s", k->set_by);
		add_row(m, &row);
	}
	/* A mark arrives before its tick, so its time may be later than the figures'. */
	row = (struct mark_row){ .id = MARK_NOW,
				 .time_ns = row.time_ns > f->at_ns ? row.time_ns : f->at_ns,
				 .rss_bytes = f->rss_bytes,
				 .sum = f->totals.sum,
				 .estimate = model_estimate(model) };
	add_row(m, &row);
}
