/* SPDX-License-Identifier: MIT
 *
 * rows.c - the rows of Marks: the program's start, its marks, and now.
 *
 * BORN, GONE and NET of a row count from the row above it. For two marks they never change, so they
 * are summed once; those of `now` are summed at each refresh, and less often where that takes long.
 */
#include "views/marks/marks.h"

#include <stdlib.h>

#define COUNT_SHARE 20 /* counting that took t is followed by at least 20 t without */

static void sum_change(void *arg, uint32_t slot, const struct change *c)
{
	struct change *sum = arg;

	(void)slot;
	sum->born_blocks += c->born_blocks;
	sum->born_bytes += c->born_bytes;
	sum->gone_blocks += c->gone_blocks;
	sum->gone_bytes += c->gone_bytes;
}

static void count_change(struct marks *m, uint32_t before, uint32_t id, struct mark_row *to)
{
	uint64_t begin = now_ns();

	to->change_known = model_between(m->v.ui->shown.model, before, id == MARK_NOW ? 0 : id,
					 sum_change, &to->change) == 0;
	if (id == MARK_NOW) {
		m->counted_ns = now_ns();
		m->counted_at = watch_instant(m->v.ui->shown.watch);
		m->count_cost_ns = m->counted_ns - begin;
	}
}

/* It visits all slots, so it may use at most a twentieth of the time. */
static bool due(const struct marks *m)
{
	return m->counted_at != watch_instant(m->v.ui->shown.watch) ||
	       now_ns() - m->counted_ns >= m->count_cost_ns * COUNT_SHARE;
}

static void add_row(struct marks *m, const struct mark_row *row)
{
	struct mark_row *old = NULL, *to;

	for (size_t i = 0; i < m->old_count && !old; i++)
		if (m->old[i].id == row->id)
			old = &m->old[i];
	GROW(m->rows, m->room, m->count + 1);
	to = &m->rows[m->count];
	*to = *row;
	if (m->count > 0) {
		uint32_t before = m->rows[m->count - 1].id;
		if (!before) { /* everything alive was born since the start */
			to->change = (struct change){ live_blocks(&row->sum), live_bytes(&row->sum),
						      0, 0 };
			to->change_known = true;
		} else if (old && old->change_known && old->before == before &&
			   (row->id != MARK_NOW || !due(m))) {
			to->change = old->change;
			to->change_known = true;
			m->v.ui->moved |= row->id == MARK_NOW; /* counts again when due */
		} else {
			count_change(m, before, row->id, to);
		}
		to->before = before;
	}
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
