/* SPDX-License-Identifier: MIT */
#include "report/shown.h"

#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

static void end(struct shown *x)
{
	if (x->changes)
		free(x->stacks);
	free(x->label_of);
	report_free(x->report);
	x->report = NULL;
	x->stacks = NULL;
	x->label_of = NULL;
}

int shown_next(struct shown *x, struct watch *w, const struct report_options *o, struct err *err)
{
	end(x);
	x->report = report_new(w);
	x->changes = o->changes;
	if (o->changes) {
		x->stacks = report_changes(x->report, o, &x->count, err);
	} else {
		x->stacks = x->report->stacks;
		x->count = x->report->stack_count;
	}
	if (!x->stacks && o->changes) {
		shown_close(x);
		return -1;
	}
	x->label_of = xcalloc(x->report->names->functions + 1ul, sizeof *x->label_of);
	return 0;
}

int shown_open(struct shown *x, struct watch *w, const struct report_options *o, struct err *err)
{
	*x = (struct shown){ .frames = xcalloc(SHOWN_FRAMES, sizeof *x->frames) };
	return shown_next(x, w, o, err);
}

void shown_close(struct shown *x)
{
	end(x);
	free(x->frames);
	free(x->labels);
	string_pool_release(&x->texts);
	map_release(&x->numbers);
}

uint32_t shown_label(struct shown *x, const char *text)
{
	char clean[4096];
	const char *kept = string_pool_keep(&x->texts, sanitize_clean(clean, sizeof clean, text));
	uint32_t number = map_get(&x->numbers, (uintptr_t)kept, NO_ID);

	if (number != NO_ID)
		return number;
	GROW(x->labels, x->label_room, x->label_count + 1);
	number = (uint32_t)x->label_count;
	x->labels[x->label_count++] = kept;
	map_set(&x->numbers, (uintptr_t)kept, number);
	return number;
}

/* Without a name, libx.so+0x12; generated code without one is told by its address. */
static uint32_t name_frame(struct shown *x, uint32_t location, uint32_t number)
{
	const struct heap_function *f = &x->report->names->function[number];
	char plain[64];

	if (!f->function && f->lib == NO_ID) {
		snprintf(plain, sizeof plain, "%s 0x%llx", GENERATED_NAME,
			 (unsigned long long)model_location(x->report->model, location)->offset);
		return shown_label(x, plain);
	}
	if (!x->label_of[number])
		x->label_of[number] = shown_label(x, f->function ? f->function : f->name) + 1;
	return x->label_of[number] - 1;
}

static size_t put_location(struct shown *x, uint32_t number, size_t count)
{
	const struct heap_names *n = x->report->names;
	uint32_t end = n->first[number + 1];

	for (uint32_t i = n->first[number]; i < end && count < SHOWN_FRAMES - 1; i++) {
		const struct heap_frame *f = &n->frames[i];
		x->frames[count++] = (struct shown_frame){
			.name = name_frame(x, number, f->function),
			.location = number,
			.inlined = f->inlined && i + 1 < end,
			.file = f->file,
			.line = f->line,
		};
	}
	return count;
}

static uint32_t name_cut(struct shown *x, uint32_t reason)
{
	char text[256];

	snprintf(text, sizeof text, "[cut: %s]", report_truncation(reason));
	return shown_label(x, text);
}

uint32_t *shown_names(struct shown *x)
{
	const struct heap_names *n = x->report->names;
	uint32_t *list = xmalloc((n->first[n->locations] + 1ul) * sizeof *list);

	for (uint32_t l = 0; l < n->locations; l++) {
		const struct location *at = model_location(x->report->model, l);

		for (uint32_t i = n->first[l]; i < n->first[l + 1]; i++)
			list[i] = at->kind == MTW_NODE_TRUNCATED
					  ? name_cut(x, (uint32_t)at->offset)
					  : name_frame(x, l, n->frames[i].function);
	}
	return list;
}

size_t shown_frames(struct shown *x, const struct report_stack *s)
{
	const struct skeleton *tree = x->report->heap->skeleton;
	size_t count = 0;

	for (uint32_t n = s->node; n; n = tree->parent[n]) {
		const struct location *at = model_location(x->report->model, tree->location[n]);
		if (at->kind != MTW_NODE_TRUNCATED)
			count = put_location(x, tree->location[n], count);
		else
			x->frames[count++] =
				(struct shown_frame){ .name = name_cut(x, (uint32_t)at->offset),
						      .location = NO_ID };
		if (count >= SHOWN_FRAMES - 1)
			break;
	}
	if (!count)
		x->frames[count++] = (struct shown_frame){ .name = shown_label(x, "[no stack]"),
							   .location = NO_ID };
	return count;
}

static const char *end_name(const struct shown *x, uint32_t mark, const char *otherwise)
{
	const struct mark *k = mark ? model_mark(x->report->model, mark) : NULL;

	return k ? k->name : otherwise;
}

char *shown_title(const struct shown *x, const struct report_options *o)
{
	const struct model *m = x->report->model;
	const struct program *g = model_program(m);
	char *text, name[256], *clean;

	sanitize_clean(name, sizeof name, *g->name ? g->name : "?");
	if (x->changes)
		text = xasprintf("growth of %s [%u] from %s to %s", name, g->pid,
				 end_name(x, o->from, "start"), end_name(x, o->to, "now"));
	else
		text = xasprintf("memory of %s [%u] at %.3f s", name, g->pid,
				 (double)model_time(m) / 1e9);
	clean = sanitize_clean(text, strlen(text) + 1, text);
	return clean;
}
