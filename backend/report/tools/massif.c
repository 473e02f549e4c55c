/* SPDX-License-Identifier: MIT
 *
 * massif.c - the file of valgrind's massif, for ms_print and massif-visualizer: the timeline as
 * snapshots, and the shown instant with its tree of callers. Of a change: two snapshots, the second
 * with what grew.
 */
#include "report/shown.h"

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

/* A stack, at one of its frames. */
struct member {
	uint64_t bytes;
	uint32_t node, frame; /* frame: of the report's names; NO_ID = above the outermost */
};

/* Callers of one name: members that lie one behind the other. */
struct caller {
	uint64_t bytes;
	uint32_t name, location, turn; /* turn: which came first */
	size_t count;
};

struct tree {
	struct snapshots *s;
	uint32_t no_frame; /* stands for one, where a stack has none */
	uint32_t *name;    /* by frame: a label's number */
	uint32_t *place;   /* by label: its caller among those at hand, + 1; 0 = none */
	uint64_t least;
};

/* One frame outwards. */
static void step(const struct tree *t, struct member *m)
{
	const struct report *r = t->s->x.report;
	const struct skeleton *s = r->heap->skeleton;

	if (m->node && m->frame + 1 < r->names->first[s->location[m->node] + 1]) {
		m->frame++;
		return;
	}
	m->node = m->node ? s->parent[m->node] : 0;
	m->frame = m->node ? r->names->first[s->location[m->node]] : NO_ID;
}

/* What is live, or of a change what grew; at their innermost frames, the heaviest first. */
static struct member *members(const struct tree *t, size_t *count, uint64_t *bytes)
{
	const struct shown *x = &t->s->x;
	const struct skeleton *s = x->report->heap->skeleton;
	struct member *list = xmalloc((x->count + 1) * sizeof *list);

	*count = *bytes = 0;
	for (size_t i = 0; i < x->count; i++) {
		struct report_stack stack = shown_stack(x, i);
		uint32_t node = report_node(x->report, stack.stack);
		int64_t own = shown_bytes(x, &stack);

		if (own <= 0)
			continue;
		*bytes += (uint64_t)own;
		list[(*count)++] =
			(struct member){ (uint64_t)own, node,
					 node ? x->report->names->first[s->location[node]]
					      : t->no_frame };
	}
	return list;
}

static uint32_t location_of(const struct tree *t, const struct member *m)
{
	const struct report *r = t->s->x.report;
	uint32_t location = m->node ? r->heap->skeleton->location[m->node] : NO_ID;

	return m->node && model_location(r->model, location)->kind != MTW_NODE_TRUNCATED ? location
											 : NO_ID;
}

static int by_bytes(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->turn > y->turn) - (x->turn < y->turn);
}

/* The names that members stand at, the largest first, and the members in that order. */
static struct caller *group(const struct tree *t, struct member *list, size_t count, size_t *groups)
{
	struct caller *callers = NULL;
	struct member *sorted = xmalloc((count + 1) * sizeof *sorted);
	size_t n = 0, room = 0, *next;

	for (size_t i = 0; i < count; i++) {
		uint32_t name = list[i].frame == NO_ID ? NO_ID : t->name[list[i].frame];

		if (name == NO_ID)
			continue;
		if (!t->place[name]) {
			GROW(callers, room, n + 1);
			callers[n] = (struct caller){ .name = name,
						      .location = location_of(t, &list[i]),
						      .turn = (uint32_t)n };
			t->place[name] = (uint32_t)++n;
		}
		callers[t->place[name] - 1].bytes += list[i].bytes;
		callers[t->place[name] - 1].count++;
	}
	if (n)
		qsort(callers, n, sizeof *callers, by_bytes);
	next = xcalloc(n + 1, sizeof *next);
	for (size_t i = 0; i < n; i++) {
		t->place[callers[i].name] = (uint32_t)i;
		next[i + 1] = next[i] + callers[i].count;
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].frame != NO_ID)
			sorted[next[t->place[t->name[list[i].frame]]]++] = list[i];
	for (size_t i = 0; i < n; i++)
		t->place[callers[i].name] = 0;
	for (size_t i = 0; n && i < next[n - 1]; i++)
		list[i] = sorted[i];
	free(next);
	free(sorted);
	*groups = n;
	return callers;
}

/* What is smaller than the threshold has one line together, if there is any. */
static void put_callers(const struct tree *t, unsigned depth, uint64_t bytes, const char *what,
			struct member *list, size_t count)
{
	size_t n = 0, large = 0;
	struct caller *callers = depth < DEPTH ? group(t, list, count, &n) : NULL;
	uint64_t small = 0;
	FILE *out = t->s->out;

	while (large < n && callers[large].bytes >= t->least)
		large++;
	for (size_t i = large; i < n; i++)
		small += callers[i].bytes;
	fprintf(out, "%*sn%zu: %" PRIu64 " %s\n", (int)depth, "", large + (n > large), bytes, what);
	for (size_t i = 0; i < large; list += callers[i++].count) {
		char *text = xasprintf("0x%" PRIX64 ": %s",
				       address(t->s->x.report->model, callers[i].location),
				       t->s->x.labels[callers[i].name]);

		for (size_t k = 0; k < callers[i].count; k++)
			step(t, &list[k]);
		put_callers(t, depth + 1, callers[i].bytes, text, list, callers[i].count);
		free(text);
	}
	if (n > large)
		fprintf(out,
			"%*sn0: %" PRIu64 " in %zu places, all below massif's threshold (1.00%%)\n",
			(int)depth + 1, "", small, n - large);
	free(callers);
}

static void put_tree(struct snapshots *s, uint64_t time_ns, const char *kind)
{
	const struct heap_names *n = s->x.report->names;
	struct tree t = { .s = s, .no_frame = n->first[n->locations] };
	uint64_t bytes;
	size_t count;

	t.name = shown_names(&s->x);
	t.name[t.no_frame] = shown_label(&s->x, "[no stack]");
	t.place = xcalloc(s->x.label_count, sizeof *t.place);
	struct member *list = members(&t, &count, &bytes);
	t.least = bytes / THRESHOLD + 1;
	snapshot(s, time_ns, bytes, kind);
	put_callers(&t, 0, bytes, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.",
		    list, count);
	free(list);
	free(t.name);
	free(t.place);
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
