/* SPDX-License-Identifier: MIT
 *
 * folded.c - one line a stack, "main;work;malloc 4096", outermost frame first: the input of
 * flamegraph.pl and of many others. Of a change each line has two figures, before and after, as
 * flamegraph.pl's differential graphs want them.
 */
#include "report/shown.h"

#include <stdlib.h>

struct ends { /* live at both ends of a change, by dense node */
	const struct model *model;
	struct live *before, *after, *into;
};

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

static void put_stack(struct shown *x, uint32_t leaf, FILE *out)
{
	for (size_t i = shown_frames(x, leaf); i-- > 0;) {
		put_frame(out, x->labels[x->frames[i].name]);
		putc(i ? ';' : ' ', out);
	}
}

static void add_end(void *arg, uint32_t slot, const struct change *c)
{
	struct ends *x = arg;
	struct live *to = &x->into[model_slot(x->model, slot)->node];

	to->blocks += c->born_blocks;
	to->bytes += c->born_bytes;
}

static struct live *live_at(struct ends *x, uint32_t mark, bool start)
{
	x->into = xcalloc(model_dense_count(x->model) + 1u, sizeof *x->into);
	if (!start) /* at the start nothing was alive */
		model_between(x->model, 0, mark, add_end, x);
	return x->into;
}

static void put_ends(struct shown *x, const struct report_options *o, FILE *out)
{
	struct ends e = { .model = x->report->model };
	uint32_t n = model_dense_count(e.model), id;
	bool blocks = o->value == VALUE_BLOCKS;

	e.before = live_at(&e, o->from, !o->from);
	e.after = live_at(&e, o->to, false);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t before = blocks ? e.before[i].blocks : e.before[i].bytes;
		uint64_t after = blocks ? e.after[i].blocks : e.after[i].bytes;

		if (!before && !after)
			continue;
		model_dense(e.model, i, &id);
		put_stack(x, id, out);
		fprintf(out, "%llu %llu\n", (unsigned long long)before, (unsigned long long)after);
	}
	free(e.before);
	free(e.after);
}

static void put_stacks(struct shown *x, enum report_value v, FILE *out)
{
	for (size_t i = 0; i < x->count; i++) {
		uint64_t value = value_of(&x->stacks[i].sum, v);

		if (!value)
			continue;
		put_stack(x, x->stacks[i].leaf, out);
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
