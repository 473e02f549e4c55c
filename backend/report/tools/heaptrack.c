/* SPDX-License-Identifier: MIT
 *
 * heaptrack.c - the text format of heaptrack (version 3), for heaptrack_print and heaptrack_gui.
 *
 * It is a list of single allocations and frees in their order, which memtop does not keep. So the
 * file holds what is true without an order: every block that is live at the shown instant (of a
 * change: that was born in it), as one allocation that was never freed. heaptrack's "peak" and
 * "leaked" are then LIVE. A stack's blocks get its mean size, rounded down or up, so that blocks
 * and bytes both add up.
 */
#include "report/shown.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX 4000000u /* some 40 MB of lines */

struct track {
	struct shown x;
	FILE *out;
	struct map strings, ips, traces; /* label, location, parent and ip, to the file's number */
	uint32_t string_count, ip_count, trace_count, size_count;
};

static uint32_t string(struct track *t, uint32_t label)
{
	uint32_t number = map_get(&t->strings, label, 0);

	if (number)
		return number;
	number = ++t->string_count;
	map_set(&t->strings, label, number);
	fprintf(t->out, "s %zx %s\n", strlen(t->x.labels[label]), t->x.labels[label]);
	return number;
}

static uint32_t text(struct track *t, const char *s)
{
	return s ? string(t, shown_label(&t->x, s)) : 0;
}

/* Frames from .. to are of one location: it and the functions inlined there, innermost first. */
static uint32_t ip(struct track *t, size_t from, size_t to)
{
	const struct model *m = t->x.report->model;
	const struct shown_frame *f = &t->x.frames[from];
	const struct location *at = f->location == NO_ID ? NULL : model_location(m, f->location);
	const struct module *k = at ? model_module(m, at->module) : NULL;
	uint64_t key = at ? f->location : (uint64_t)1 << 32 | f->name;
	uint32_t number = map_get(&t->ips, key, 0), module;

	if (number)
		return number;
	module = text(t, k ? k->path : NULL);
	for (size_t i = from; i <= to; i++) { /* strings come before the line that names them */
		string(t, f[i - from].name);
		text(t, f[i - from].file);
	}
	fprintf(t->out, "i %" PRIx64 " %" PRIx32,
		!at ? 0
		: k ? k->bias + at->offset
		    : at->offset,
		module);
	for (size_t i = from; i <= to; i++, f++)
		fprintf(t->out, " %" PRIx32 " %" PRIx32 " %" PRIx32, string(t, f->name),
			text(t, f->file), f->line);
	fputc('\n', t->out);
	number = ++t->ip_count;
	map_set(&t->ips, key, number);
	return number;
}

static uint32_t trace(struct track *t, const struct report_stack *s)
{
	size_t count = shown_frames(&t->x, s->stack);
	uint32_t parent = 0;

	for (size_t to = count; to > 0;) {
		size_t from = to - 1;
		while (from > 0 && t->x.frames[from - 1].inlined)
			from--;
		uint32_t at = ip(t, from, to - 1);
		uint64_t key = (uint64_t)parent << 32 | at;
		uint32_t number = map_get(&t->traces, key, 0);
		if (!number) {
			fprintf(t->out, "t %" PRIx32 " %" PRIx32 "\n", at, parent);
			number = ++t->trace_count;
			map_set(&t->traces, key, number);
		}
		parent = number;
		to = from;
	}
	return parent;
}

static void put_blocks(struct track *t, uint64_t count, uint64_t size, uint32_t trace)
{
	if (!count)
		return;
	fprintf(t->out, "a %" PRIx64 " %" PRIx32 "\n", size, trace);
	for (uint64_t i = 0; i < count; i++)
		fprintf(t->out, "+ %" PRIx32 "\n", t->size_count);
	t->size_count++;
}

static void put_stack(struct track *t, const struct report_stack *s)
{
	uint64_t blocks = t->x.changes ? s->change.born_blocks : live_blocks(&s->sum);
	uint64_t bytes = t->x.changes ? s->change.born_bytes : live_bytes(&s->sum);

	if (!blocks)
		return;
	uint32_t at = trace(t, s);
	put_blocks(t, blocks - bytes % blocks, bytes / blocks, at);
	put_blocks(t, bytes % blocks, bytes / blocks + 1, at);
}

static int write_heaptrack(struct watch *w, struct query *q, const struct report_options *o,
			   FILE *out, struct err *err)
{
	struct track t = { .out = out };

	(void)q;
	if (shown_open(&t.x, w, o, err))
		return -1;
	const struct model *m = t.x.report->model;
	if (live_blocks(&model_totals(m)->sum) > BLOCKS_MAX) {
		shown_close(&t.x);
		return err_set(
			err, 2,
			"heaptrack: its format has a line for each block, and more than %u million "
			"are live; choose another format",
			BLOCKS_MAX / 1000000);
	}
	char *command = report_command(t.x.report->model);
	uint64_t rss = 0, virt;
	uint32_t threads, children;
	model_process(m, &rss, &virt, &threads, &children);
	fprintf(out, "v 10400 3\nX %s\nI 1000 0\n", command);
	for (size_t i = 0; i < t.x.count; i++) {
		struct report_stack s = shown_stack(&t.x, i);

		put_stack(&t, &s);
	}
	fprintf(out, "c %" PRIx64 "\nR %" PRIx64 "\n", model_time(m) / 1000000, rss / 4096);
	free(command);
	map_release(&t.strings);
	map_release(&t.ips);
	map_release(&t.traces);
	shown_close(&t.x);
	return report_flush(out, err);
}

const struct report_format report_heaptrack = {
	.name = "heaptrack",
	.ending = ".heaptrack",
	.write = write_heaptrack,
	.about = "live blocks, for heaptrack_print and its GUI",
};
