/* SPDX-License-Identifier: MIT */
#include "widgets/figures.h"

#include "widgets/cells.h"

#include <stdlib.h>
#include <string.h>

static void take_points(struct figures *f, const struct model *m)
{
	const struct point *points;
	size_t n = model_history(m, &points);

	if (n > f->point_room) {
		f->points = xrealloc(f->points, n * sizeof *f->points);
		f->known = xrealloc(f->known, n * sizeof *f->known);
		for (size_t i = 0; i < FIGURES_OWNERS; i++)
			f->owners[i].series = xrealloc(f->owners[i].series, n * sizeof(uint64_t));
		f->point_room = n;
	}
	if (n)
		memcpy(f->points, points, n * sizeof *points);
	f->point_count = n;
}

static const struct owner *owner_named(const struct owner *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static void take_owner(struct figures *f, struct figure_owner *to, const struct owner *o)
{
	to->name = o->name;
	to->letter = cells_letter(o);
	to->module = o->module;
	to->amounts = o->amounts;
	if (o->series && f->point_count)
		memcpy(to->series, o->series, f->point_count * sizeof(uint64_t));
	else if (f->point_count)
		memset(to->series, 0, f->point_count * sizeof(uint64_t));
}

/* Called after take_points(), because a series has one value per point. The graph's bands are the
 * present owners, in their order. */
static void take_owners(struct figures *f, struct owners *o, struct owners *graphed)
{
	const struct owner *then, *list;
	size_t then_count = owners_update(o, &then), count = then_count;

	list = then;
	if (graphed != o)
		count = owners_update(graphed, &list);
	f->owner_total = count;
	f->owner_count = count < FIGURES_OWNERS ? count : FIGURES_OWNERS;
	f->direct = owners_direct(o, -1);
	if (f->point_count)
		memcpy(f->known, owners_known(graphed), f->point_count * sizeof *f->known);
	f->rest_estimate = false;
	for (size_t i = f->owner_count; i < count; i++)
		f->rest_estimate |= list[i].amounts.sampled != 0;
	for (size_t i = 0; i < f->owner_count; i++) {
		struct owner w = list[i];
		const struct owner *x = graphed == o ? NULL : owner_named(then, then_count, w.name);
		if (graphed != o)
			w.amounts = x ? x->amounts : (struct amounts){ 0 };
		take_owner(f, &f->owners[i], &w);
	}
}

static void take_marks(struct figures *f, const struct model *m)
{
	f->mark_count = 0;
	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *mark = model_mark(m, id);
		if (!mark || !mark->known || (mark->flags & MTW_MARK_DROPPED))
			continue;
		GROW(f->marks, f->mark_room, f->mark_count + 1);
		f->marks[f->mark_count++] = (struct figure_mark){ id, mark->time_ns };
	}
}

void figures_take(struct figures *f, struct watch *w, struct owners *o, struct owners *graphed)
{
	struct model *m = watch_model(w), *now = watch_now(w);
	uint64_t virt, events, bytes;
	uint32_t threads;

	f->taken_ns = now_ns();
	f->totals = *model_totals(m);
	f->estimate = model_estimate(m);
	f->past = m != now;
	f->still = model_final(now) || watch_target(w)->kind == TARGET_FILE;
	f->at_ns = model_time(m) > f->totals.time_ns ? model_time(m) : f->totals.time_ns;
	f->time_ns = f->past ? model_time(now) : f->at_ns;
	f->rss_bytes = 0;
	f->children = 0;
	model_process(m, &f->rss_bytes, &virt, &threads, &f->children);
	f->rates = model_rates(m);
	take_points(f, now);
	take_owners(f, o, graphed);
	take_marks(f, now);
	symbols_progress(watch_symbols(w), &f->symbols_done, &f->symbols_asked);
	f->lost_events = 0;
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		model_loss(m, i, &events, &bytes);
		f->lost_events += i == MTW_LOSS_SHADOW ? events : 0;
	}
	quality_of(m, &f->quality);
	f->state = model_state(m, &f->status, &f->status_known);
	f->stop = model_stopped(m) ? *model_stopped(m) : (struct stop){ .times = 0 };
	f->complete = model_complete(m);
	/* live, the rest is on its way */
	f->whole = f->complete && (f->state != MTW_CUT || model_whole(m));
	f->final = model_final(m);
	f->window_ns = figures_over(f) ? 0 : model_window(m);
}

void figures_release(struct figures *f)
{
	for (size_t i = 0; i < FIGURES_OWNERS; i++)
		free(f->owners[i].series);
	free(f->points);
	free(f->known);
	free(f->marks);
	memset(f, 0, sizeof *f);
}

bool figures_arrived(const struct figures *f, uint64_t at_ns)
{
	return f->past && f->at_ns == at_ns;
}

bool figures_over(const struct figures *f)
{
	return f->final || f->state == MTW_CUT;
}

bool figures_rated(const struct figures *f)
{
	return f->rates.known || figures_over(f);
}

uint64_t figures_owner_at(const struct figures *f, size_t owner, size_t point)
{
	return point < f->point_count ? f->owners[owner].series[point] : 0;
}

size_t figures_known_from(const struct figures *f)
{
	size_t i = f->point_count;

	while (i && f->known[i - 1])
		i--;
	return i;
}

size_t figures_point_at(const struct figures *f, uint64_t time_ns)
{
	/* No point before it: 0 - 1 is SIZE_MAX. */
	return count_up_to(f->points, f->point_count, sizeof *f->points, time_ns) - 1;
}
