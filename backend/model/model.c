/* SPDX-License-Identifier: MIT
 *
 * model.c - creates, clears and frees the session's data. model/apply.c applies events.
 */
#include "model/columns.h"
#include "model/internal.h"

#include <stdlib.h>

struct model *model_new(void)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->sampled_epoch = UINT64_MAX;
	trie_new_node(&m->trie, &m->quota, 0);
	return m;
}

static void reset(struct model *m)
{
	columns_forget(m);
	program_free(&m->program);
	options_clear(&m->options);
	notices_clear(&m->notices);
	modules_clear(&m->modules);
	filters_clear(&m->filters);
	scanned_ages_clear(&m->ages);
	rss_clear(&m->rss);
	cohorts_clear(&m->cohorts);
	instants_clear(&m->instants);
	trie_clear(&m->trie, &m->quota);
	locations_clear(&m->locations);
	tick_clear(m);
	marks_clear(&m->marks);
	interval_clear(&m->interval);
	samples_clear(&m->samples);
	m->stops = (struct stops){ .count = 0 };
	peak_clear(&m->peak);
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
}

void model_free(struct model *m)
{
	if (!m)
		return;
	reset(m);
	free(m->modules.list);
	free(m->threads.list);
	free(m->marks.list);
	trie_release(&m->trie);
	tick_release(&m->tick);
	free(m);
}

void model_clear(struct model *m)
{
	reset(m);
	trie_new_node(&m->trie, &m->quota, 0);
	m->resets++;
	m->ticks++;
}

void model_keep_instants(struct model *m, const uint64_t *ticks, size_t n)
{
	instants_keep(&m->instants, ticks, n);
}
