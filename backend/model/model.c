/* SPDX-License-Identifier: MIT
 *
 * model.c - creates, clears and frees the session's data. model/apply.c applies events.
 */
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>

struct model *model_new(void)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->sampled_epoch = UINT64_MAX;
	maker_init(m);
	return m;
}

static void reset(struct model *m)
{
	maker_release(m);
	program_free(&m->program);
	options_clear(&m->options);
	notices_clear(&m->notices);
	modules_clear(&m->modules);
	filters_clear(&m->filters);
	scanned_ages_clear(&m->ages);
	rss_clear(&m->rss);
	cohorts_clear(&m->cohorts);
	instants_clear(&m->instants);
	locations_clear(&m->locations);
	tick_clear(m);
	marks_clear(&m->marks);
	interval_clear(&m->interval);
	samples_clear(&m->samples);
	m->stops = (struct stops){ .count = 0 };
	m->peak = (struct peak_said){ .whole = false };
	series_clear(&m->history.series);
	threads_clear(&m->threads);
	m->figures = (struct figures){ 0 };
	m->totals = (struct totals){ 0 };
	m->hello = m->complete = m->resuming = m->tick_complete = m->final = m->status_known =
		false;
	m->state = MTW_RUNNING;
	m->cut_end = (struct program_end){ .state = MTW_RUNNING };
	m->status = 0;
	m->time_ns = m->quota.bytes = 0;
	m->sampled_epoch = UINT64_MAX;
	m->inherited = (struct tally){ 0 };
	m->estimated = m->mid_tick = false;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	reset(m);
	free(m->modules.list);
	free(m->threads.list);
	free(m->marks.list);
	free(m->maker);
	free(m);
}

void model_read_apart(struct model *m, void (*end)(void *arg), void *arg)
{
	m->read_end = end;
	m->read_arg = arg;
}

void model_clear(struct model *m)
{
	model_mine(m);
	reset(m);
	maker_init(m);
	m->resets++;
	m->ticks++;
}

void model_keep_instants(struct model *m, const uint64_t *ticks, size_t n)
{
	instants_keep(&m->instants, ticks, n);
}
