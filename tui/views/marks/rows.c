/* SPDX-License-Identifier: MIT
 *
 * rows.c - the rows of Marks: the program's start, its marks, and now.
 *
 * BORN, GONE and NET of a row count from the row above it. For two marks they never change, and the
 * query counts them once; those of `now` come with the snapshot.
 */
#include "views/marks/marks.h"

#include <stdlib.h>

/* Since the row above, which is of a mark that keeps its live amounts. The snapshot may not say it
 * yet: then it stays as it was. */
static void take_now(struct marks *m, struct mark_row *now, const struct mark_row *above)
{
	const struct mark_row *was = m->count ? &m->rows[m->count - 1] : NULL;
	struct amounts *a = &now->amounts;

	if (query_since_mark(m->v.ui->shown.query, above->id, &a->change)) {
		a->changed = KNOWN;
	} else {
		m->v.ui->moved = true;
		if (was && was->before == above->id) {
			a->change = was->amounts.change;
			a->changed = was->amounts.changed;
		}
	}
}

/* list: query_marks() */
static void take_change(struct mark_row *to, const struct mark_row *above,
			const struct change *list)
{
	struct amounts *a = &to->amounts;

	to->before = above->id;
	if (!above->id) /* everything alive was born since the start */
		a->change = (struct change){ live_blocks(&a->sum), live_bytes(&a->sum), 0, 0 };
	else if (to->id != MARK_NOW && above->by_slot && to->by_slot)
		a->change = list[to->id];
	else
		return;
	a->changed = KNOWN;
}

static void add_row(struct marks *m, const struct mark_row *row)
{
	GROW(m->next, m->next_room, m->next_count + 1);
	m->next[m->next_count] = *row;
	m->next[m->next_count++].amounts.changed = KNOWN_NONE;
}

bool marks_is_there(const struct mark_row *rows, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].id == id)
			return true;
	return false;
}

void marks_rows_make(struct marks *m)
{
	const struct change *list;

	query_marks(m->v.ui->shown.query, &list);
	for (size_t i = 1; i < m->next_count; i++)
		take_change(&m->next[i], &m->next[i - 1], list);
}

void marks_rows_take(struct marks *m)
{
	struct mark_row *was = m->rows, *now = &m->next[m->next_count - 1];
	size_t room = m->room;

	if (now[-1].id && now[-1].by_slot)
		take_now(m, now, now - 1);
	m->rows = m->next;
	m->room = m->next_room;
	m->count = m->next_count;
	m->next = was;
	m->next_room = room;
	m->next_count = 0;
}

void marks_rows_ask(struct marks *m)
{
	const struct figures *f = &m->v.ui->shown.figures;
	struct model *model = m->v.ui->shown.model;
	uint32_t whole = model_marks_whole(model);
	struct mark_row row = { .amounts.live = KNOWN_NONE };

	m->next_count = 0;
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
			.by_slot = id <= whole && !(k->flags & MTW_MARK_TOTALS_ONLY)
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
	const struct mark_row *newest = &m->next[m->next_count - 2];
	model_count_since(model, newest->by_slot ? newest->id : 0);
}
