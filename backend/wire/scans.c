/* SPDX-License-Identifier: MIT
 *
 * scans.c - decodes answers to scans into events.
 */
#include "wire/reader.h"

#include <stdlib.h>

void scans_read_threads(struct reader *r)
{
	r->e.u.scan_thread.request = mtw_get(&r->in);
	size_t n = get_count(r, MTW_THREADS_MAX, 3);

	while (n-- && !r->in.bad) {
		r->e.u.scan_thread.thread = get_id(r, MTW_THREADS_MAX);
		r->e.u.scan_thread.blocks = mtw_get(&r->in);
		r->e.u.scan_thread.bytes = mtw_get(&r->in);
		emit(r);
	}
}

static struct age_cell *get_cells(struct reader *r, size_t *count)
{
	size_t n = *count = get_count(r, MTW_BATCH_MAX, 3);
	struct age_cell *cells = xcalloc(n, sizeof *cells);

	for (size_t i = 0; i < n && !r->in.bad; i++) {
		cells[i].key = mtw_get(&r->in);
		cells[i].blocks = mtw_get(&r->in);
		cells[i].bytes = mtw_get(&r->in);
	}
	return cells;
}

void scans_read_ages(struct reader *r)
{
	struct scan_ages *a = &r->e.u.ages;

	a->request = mtw_get(&r->in);
	a->blocks = mtw_get(&r->in);
	a->bytes = mtw_get(&r->in);
	a->births = get_cells(r, &a->birth_count);
	a->sizes = get_cells(r, &a->size_count);
	a->threads = get_cells(r, &a->thread_count);
	emit(r);
	free(a->births);
	free(a->sizes);
	free(a->threads);
}

void scans_read_memory(struct reader *r)
{
	r->e.u.rss.request = mtw_get(&r->in);
	r->e.u.rss.time_ns = mtw_get(&r->in);
	size_t n = r->e.u.rss.count = get_count(r, MTW_RSS_PARTS_MAX, 4);
	struct rss_read *parts = r->e.u.rss.parts = xcalloc(n, sizeof *parts);

	for (size_t i = 0; i < n && !r->in.bad; i++) {
		parts[i].what = mtw_get(&r->in); /* a later version may know more of them */
		parts[i].name = get_text(r, MTW_STRING_MAX);
		parts[i].bytes = mtw_get(&r->in);
		parts[i].mappings = mtw_get(&r->in);
	}
	emit(r);
	free(parts);
}

void scans_read_cohorts(struct reader *r)
{
	uint64_t slot = 0;

	r->e.u.cohorts.request = mtw_get(&r->in);
	r->e.u.cohorts.flags = get32(r);
	r->e.u.cohorts.time_ns = mtw_get(&r->in);
	r->e.u.cohorts.left_blocks = mtw_get(&r->in);
	r->e.u.cohorts.left_bytes = mtw_get(&r->in);
	size_t n = r->e.u.cohorts.count = get_count(r, MTW_BATCH_MAX, 5);
	struct cohort *list = r->e.u.cohorts.list = xcalloc(n, sizeof *list);

	for (size_t i = 0; i < n && !r->in.bad; i++) {
		list[i].slot = get_delta(r, &slot, MTW_SLOTS_MAX);
		list[i].thread = get_id(r, MTW_THREADS_MAX);
		list[i].age_s = get32(r);
		list[i].blocks = mtw_get(&r->in);
		list[i].bytes = mtw_get(&r->in);
	}
	emit(r);
	free(list);
}
