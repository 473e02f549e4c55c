/* SPDX-License-Identifier: MIT */
#include "report/shown.h"

#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

static void end(struct shown *x)
{
	free(x->changed);
	free(x->label_of);
	report_free(x->report);
	x->report = NULL;
	x->changed = NULL;
	x->label_of = NULL;
}

int shown_next(struct shown *x, struct watch *w, const struct report_options *o, struct err *err)
{
	end(x);
	x->report = report_new(w);
	x->changes = o->changes;
	if (o->changes) {
		x->changed = report_changes(x->report, o, &x->count, err);
	} else {
		x->count = x->report->stack_count;
	}
	if (!x->changed && o->changes) {
		shown_close(x);
		return -1;
	}
	x->label_of = xcalloc(x->report->names->functions + 1ul, sizeof *x->label_of);
	return 0;
}

int shown_open(struct shown *x, struct watch *w, const struct report_options *o, struct err *err)
{
	*x = (struct shown){ .frames = xcalloc(REPORT_FRAMES, sizeof *x->frames),
			     .walked = xcalloc(REPORT_FRAMES, sizeof *x->walked) };
	return shown_next(x, w, o, err);
}

void shown_close(struct shown *x)
{
	end(x);
	free(x->frames);
	free(x->walked);
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
static uint32_t name_of(struct shown *x, uint32_t location, uint32_t frame)
{
	const struct location *at = model_location(x->report->model, location);
	uint32_t number = x->report->names->frames[frame].function;
	const struct heap_function *f = &x->report->names->function[number];
	char plain[256] = "";

	if (at->kind == MTW_NODE_TRUNCATED)
		snprintf(plain, sizeof plain, "[cut: %s]", report_truncation((uint32_t)at->offset));
	else if (!f->function && f->lib == NO_ID)
		snprintf(plain, sizeof plain, "%s 0x%llx", GENERATED_NAME,
			 (unsigned long long)at->offset);
	if (*plain)
		return shown_label(x, plain);
	if (!x->label_of[number])
		x->label_of[number] = shown_label(x, f->function ? f->function : f->name) + 1;
	return x->label_of[number] - 1;
}

uint32_t *shown_names(struct shown *x)
{
	const struct heap_names *n = x->report->names;
	uint32_t *list = xmalloc((n->first[n->locations] + 1ul) * sizeof *list);

	for (uint32_t l = 0; l < n->locations; l++)
		for (uint32_t i = n->first[l]; i < n->first[l + 1]; i++)
			list[i] = name_of(x, l, i);
	return list;
}

size_t shown_frames(struct shown *x, uint32_t stack)
{
	size_t count = report_frames(x->report, stack, x->walked);

	for (size_t i = 0; i < count; i++) {
		const struct report_frame *f = &x->walked[i];
		const struct heap_frame *h = &x->report->names->frames[f->frame];

		x->frames[i] = (struct shown_frame){
			.name = name_of(x, f->location, f->frame),
			.location = f->cut ? NO_ID : f->location,
			.inlined = f->inlined,
			.site = f->site && !f->cut,
			.file = f->cut ? NULL : h->file,
			.line = f->cut ? 0 : h->line,
		};
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
