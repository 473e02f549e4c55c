/* SPDX-License-Identifier: MIT
 *
 * folded.c - one line a stack, "main;work;malloc 4096", outermost frame first: the input of
 * flamegraph.pl and of many others. Of a change each line has two figures, before and after, as
 * flamegraph.pl's differential graphs want them.
 */
#include "model/columns.h"
#include "report/shown.h"

#include <stdlib.h>

static uint64_t value_of(const struct tally *t, enum report_value v)
{
	switch (v) {
	case VALUE_BLOCKS: return live_blocks(t);
	case VALUE_ALLOCATED: return t->alloc_bytes;
	case VALUE_ALLOCATIONS: return t->alloc_blocks;
	case VALUE_TEMPORARY: return t->free_bytes;
	default: return live_bytes(t);
	}
}

/* A semicolon ends a frame, whoever's name has one. */
static void put_frame(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name, out);
}

static void put_stack(struct shown *x, uint32_t stack, FILE *out)
{
	for (size_t i = shown_frames(x, stack); i-- > 0;) {
		put_frame(out, x->labels[x->frames[i].name]);
		putc(i ? ';' : ' ', out);
	}
}

/* By stack of the report's call tree: live at a mark, 0 = now. */
static struct live *live_at(const struct report *r, uint32_t mark, bool start)
{
	const struct columns *c = r->columns;
	uint32_t stacks = c->skeleton->stacks;
	struct live *list = xcalloc(stacks + 1ul, sizeof *list);
	struct live_list held = { 0 };

	if (mark)
		held = model_live_at(r->model, c, mark);
	for (uint32_t k = 0; k < stacks && !start; k++)
		for (uint32_t i = c->first[k]; i < c->first[k + 1]; i++) {
			struct tally now = columns_at(c, i);
			struct live x = { live_blocks(&now), live_bytes(&now) };
			if (held.list)
				x = live_list_at(&held, i);
			list[k].blocks += x.blocks;
			list[k].bytes += x.bytes;
		}
	live_list_release(&held);
	return list;
}

static void put_ends(struct shown *x, const struct report_options *o, FILE *out)
{
	const struct skeleton *tree = x->report->heap->skeleton;
	struct live *before = live_at(x->report, o->from, !o->from);
	struct live *after = live_at(x->report, o->to, false);
	bool blocks = o->value == VALUE_BLOCKS;

	for (uint32_t k = 0; k < tree->stacks; k++) {
		uint64_t was = blocks ? before[k].blocks : before[k].bytes;
		uint64_t is = blocks ? after[k].blocks : after[k].bytes;

		if (!was && !is)
			continue;
		put_stack(x, k, out);
		fprintf(out, "%llu %llu\n", (unsigned long long)was, (unsigned long long)is);
	}
	free(before);
	free(after);
}

static void put_stacks(struct shown *x, enum report_value v, FILE *out)
{
	for (size_t i = 0; i < x->count; i++) {
		struct report_stack s = shown_stack(x, i);
		uint64_t value = value_of(&s.sum, v);

		if (!value)
			continue;
		put_stack(x, s.stack, out);
		fprintf(out, "%llu\n", (unsigned long long)value);
	}
}

static int check_value(const struct report_options *o, struct err *err)
{
	if (o->value == VALUE_GROWTH && !o->changes)
		return err_set(err, 2,
			       "--value growth: growth needs two instants; add --since MARK or "
			       "--between A..B");
	if (o->changes && o->value >= VALUE_ALLOCATED && o->value <= VALUE_TEMPORARY)
		return err_set(err, 2,
			       "--value %s: a mark keeps only what was alive; use live, blocks or "
			       "growth",
			       report_value_name(o->value));
	return 0;
}

static int write_folded(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
			struct err *err)
{
	struct shown x;

	(void)q;
	if (check_value(o, err) || shown_open(&x, w, o, err))
		return -1;
	if (o->changes)
		put_ends(&x, o, out);
	else
		put_stacks(&x, o->value, out);
	shown_close(&x);
	return report_flush(out, err);
}

const struct report_format report_folded = {
	.name = "folded",
	.ending = ".folded",
	.write = write_folded,
	.about = "a line a stack, for flamegraph.pl",
};
