/* SPDX-License-Identifier: MIT
 *
 * massif.c - the file of valgrind's massif, for ms_print and massif-visualizer: the timeline as
 * snapshots, and the shown instant with its tree of callers. Of a change: two snapshots, the second
 * with what grew.
 */
#include "report/paths.h"

#include <inttypes.h>
#include <stdlib.h>

#define SNAPSHOTS 200 /* of the timeline */
#define DEPTH 30      /* massif's own default */
#define THRESHOLD 100 /* one part in so many: smaller paths share a line, as massif does */

struct snapshots {
	struct shown x;
	FILE *out;
	unsigned count;
};

static void snapshot(struct snapshots *s, uint64_t time_ns, uint64_t bytes, const char *tree)
{
	fprintf(s->out,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		s->count++, time_ns / 1000000, bytes, tree);
}

static uint64_t address(const struct model *m, uint32_t location)
{
	const struct location *at = location == NO_ID ? NULL : model_location(m, location);
	const struct module *k = at ? model_module(m, at->module) : NULL;

	return !at ? 0 : k ? k->bias + at->offset : at->offset;
}

/* Children as large as the threshold; the others have one line together, if there are any. */
static uint32_t count_lines(const struct paths *t, uint32_t parent, uint64_t least, uint32_t *small,
			    uint64_t *small_bytes)
{
	uint32_t lines = 0;

	*small = 0;
	*small_bytes = 0;
	for (uint32_t i = t->list[parent].first; i != NO_ID; i = t->list[i].next) {
		lines += t->list[i].value >= least;
		*small += t->list[i].value < least;
		*small_bytes += t->list[i].value < least ? t->list[i].value : 0;
	}
	return lines + (*small != 0);
}

static void put_path(const struct snapshots *s, const struct paths *t, uint32_t at)
{
	const struct path *p = &t->list[at];
	uint64_t least = t->list[0].value / THRESHOLD + 1, small_bytes = 0;
	uint32_t small = 0,
		 lines = p->depth < DEPTH ? count_lines(t, at, least, &small, &small_bytes) : 0;

	fprintf(s->out, "%*sn%u: %" PRIu64 " ", (int)p->depth, "", lines, p->value);
	if (!at)
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", s->out);
	else
		fprintf(s->out, "0x%" PRIX64 ": %s\n", address(s->x.report->model, p->location),
			s->x.labels[p->name]);
	if (!lines)
		return;
	for (uint32_t i = p->first; i != NO_ID && t->list[i].value >= least; i = t->list[i].next)
		put_path(s, t, i);
	if (small)
		fprintf(s->out,
			"%*sn0: %" PRIu64 " in %u places, all below massif's threshold (1.00%%)\n",
			(int)p->depth + 1, "", small_bytes, small);
}

static void put_tree(struct snapshots *s, uint64_t time_ns, const char *kind)
{
	struct paths t;

	paths_make(&t, &s->x, false);
	snapshot(s, time_ns, t.list[0].value, kind);
	put_path(s, &t, 0);
	paths_release(&t);
}

/* The peak has its figure alone, unless it is the instant that is shown. */
static void put_peak(struct snapshots *s, const struct totals *t)
{
	snapshot(s, t->peak_time_ns, t->peak_bytes, "peak");
	fprintf(s->out, "n0: %" PRIu64 " (the stacks of the peak: memtop report --at peak)\n",
		t->peak_bytes);
}

static void put_history(struct snapshots *s)
{
	const struct model *m = s->x.report->model;
	const struct totals *t = model_totals(m);
	const struct point *points;
	size_t n = model_history(m, &points), step = n / SNAPSHOTS + 1;
	uint64_t now = model_time(m);
	bool shown = t->peak_bytes <= live_bytes(&t->sum), put = shown;

	for (size_t i = 0; i < n && points[i].time_ns < now; i++) {
		if (!put && points[i].time_ns >= t->peak_time_ns) {
			put_peak(s, t);
			put = true;
		}
		if (i % step == 0)
			snapshot(s, points[i].time_ns, points[i].live_bytes, "empty");
	}
	if (!put)
		put_peak(s, t);
	put_tree(s, now, shown ? "peak" : "detailed");
}

static void put_change(struct snapshots *s, const struct report_options *o)
{
	const struct model *m = s->x.report->model;
	const struct mark *from = o->from ? model_mark(m, o->from) : NULL,
			  *to = o->to ? model_mark(m, o->to) : NULL;

	snapshot(s, from ? from->time_ns : 0, 0, "empty");
	put_tree(s, to ? to->time_ns : model_time(m), "peak");
}

static int write_massif(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
			struct err *err)
{
	struct snapshots s = { .out = out };

	(void)q;
	if (shown_open(&s.x, w, o, err))
		return -1;
	char *title = shown_title(&s.x, o), *command = report_command(s.x.report->model);
	fprintf(out, "desc: memtop: %s\ncmd: %s\ntime_unit: ms\n", title, command);
	if (o->changes)
		put_change(&s, o);
	else
		put_history(&s);
	free(title);
	free(command);
	shown_close(&s.x);
	return report_flush(out, err);
}

const struct report_format report_massif = {
	.name = "massif",
	.ending = ".massif",
	.write = write_massif,
	.about = "for ms_print and massif-visualizer",
};
