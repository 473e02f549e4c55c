/* SPDX-License-Identifier: MIT */
#include "report/shown.h"

#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

static void end(struct shown *x)
{
	if (x->changes)
		free(x->stacks);
	free(x->named);
	report_free(x->report);
	x->report = NULL;
	x->stacks = NULL;
	x->named = NULL;
	x->name_count = 0;
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
	x->named = xcalloc(model_location_count(x->report->model) + 1u, sizeof *x->named);
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
	free(x->names);
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

/* Without a name, libx.so+0x12. */
static uint32_t name_frame(struct shown *x, const struct location *at, const struct symbol_frame *f)
{
	const struct module *m = model_module(x->report->model, at->module);
	char plain[4096];

	if (f && f->function)
		return shown_label(x, f->function);
	if (m && m->name)
		snprintf(plain, sizeof plain, "%s+0x%llx", m->name, (unsigned long long)at->offset);
	else
		snprintf(plain, sizeof plain, "%s 0x%llx", GENERATED_NAME,
			 (unsigned long long)at->offset);
	return shown_label(x, plain);
}

/* The labels of a location's frames: made once, since stacks share most of their frames. */
static const uint32_t *names_of(struct shown *x, uint32_t number, const struct symbol *s,
				size_t frames)
{
	const struct location *at = model_location(x->report->model, number);

	if (!x->named[number]) {
		x->named[number] = (uint32_t)x->name_count + 1;
		GROW(x->names, x->name_room, x->name_count + frames);
		for (size_t i = 0; i < frames; i++)
			x->names[x->name_count++] =
				name_frame(x, at, i < s->count ? &s->frames[i] : NULL);
	}
	return &x->names[x->named[number] - 1];
}

static size_t put_location(struct shown *x, uint32_t number, size_t count)
{
	const struct symbol *s = symbols_of_location(x->report->symbols, number);
	size_t frames = s->source == SYMBOL_PENDING || !s->count ? 1 : s->count;
	const uint32_t *names = names_of(x, number, s, frames);

	for (size_t i = 0; i < frames && count < SHOWN_FRAMES - 1; i++) {
		const struct symbol_frame *f = i < s->count ? &s->frames[i] : NULL;
		x->frames[count++] = (struct shown_frame){
			.name = names[i],
			.location = number,
			.inlined = f && f->inlined && i + 1 < frames,
			.file = f ? f->file : NULL,
			.line = f ? f->line : 0,
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

size_t shown_frames(struct shown *x, uint32_t leaf)
{
	const struct model *m = x->report->model;
	size_t count = 0;

	for (const struct node *n = model_node(m, leaf); n && n->known && n->index;
	     n = model_dense(m, n->parent, NULL)) {
		const struct location *at = model_place(m, n);
		if (at->kind != MTW_NODE_TRUNCATED)
			count = put_location(x, n->location, count);
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
