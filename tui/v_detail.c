/* SPDX-License-Identifier: MIT
 *
 * v_detail.c - one call path in full: its figures, its frames innermost first, the source around
 * the innermost line that is here, and sizes and ages as the agent's scan of the path's slots found
 * them. The scan is asked for once, when the page opens; until its answer comes the page says so.
 */
#include "app.h"
#include "cells.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512
#define SCAN_SLOTS_MAX 8192
#define SOURCE_AROUND 3
#define SOURCE_LINES_MAX 200000
#define BAR 24
#define PATIENCE_NS 15000000000u

struct detail {
	struct page p;           /* first */
	uint32_t node;
	bool inclusive;          /* with the paths below the node */
	uint32_t stacks;         /* that the row adds up; this one is the heaviest */
	bool scanning;
	uint64_t asked_ns;       /* now_ns() of the last time */
	uint64_t scan_before;    /* request of the ages that were there when ours was asked for */
};

static void add_source(struct page *p, const char *file, uint32_t line)
{
	FILE *f = fopen(file, "re");
	char text[512];
	uint32_t at = 0;

	if (!f)
		return;
	page_add(p, ROLE_NORMAL, "%s", "");
	page_add(p, ROLE_TITLE, "Source  %s", file);
	while (at < SOURCE_LINES_MAX && at < line + SOURCE_AROUND && fgets(text, sizeof text, f)) {
		bool whole = strchr(text, '\n') != NULL;
		at++;
		text[strcspn(text, "\n")] = 0;
		if (at + SOURCE_AROUND >= line)
			page_add(p, at == line ? ROLE_HIT : ROLE_PLACE, "%s%6u  %s",
				 at == line ? ">" : " ", at, text);
		for (int c; !whole && (c = fgetc(f)) != EOF && c != '\n';)
			;
	}
	fclose(f);
}

static void add_stack(struct detail *d)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	size_t n = query_stack(d->p.v.app->query, d->node, frames, FRAMES_MAX);
	const struct frame_out *source = NULL;

	page_add(&d->p, ROLE_TITLE, "Stack, innermost first");
	for (size_t i = 0; i < n; i++) {
		const struct frame_out *f = &frames[i];
		char place[600] = "", where[400] = "?";
		if (f->file && f->line)
			snprintf(place, sizeof place, "  %.500s:%u", f->file, f->line);
		if (f->module && f->has_offset)
			snprintf(where, sizeof where, "%.300s+0x%llx", f->module,
				 (unsigned long long)f->offset);
		else if (f->module)
			snprintf(where, sizeof where, "%.300s", f->module);
		page_add(&d->p, f->function ? ROLE_NAME : ROLE_DIM, "  #%-3zu %s%s%s  [%s]", i,
			 f->function ? f->function : where, f->inlined ? "  (inlined)" : "", place,
			 f->function ? (f->module ? f->module : "?") : "no name");
		if (!source && f->file && f->line && f->file[0] == '/')
			source = f;
	}
	if (source)
		add_source(&d->p, source->file, source->line);
	free(frames);
}

/* Figures have a share that was sampled: "~" before them. */
static const char *about(const struct detail *d)
{
	const struct node *n = model_node(d->p.v.app->model, d->node);

	return n && (d->inclusive ? n->sampled : n->self_estimate) ? "~" : "";
}

static void add_bar(struct detail *d, const char *label, uint64_t blocks, uint64_t bytes,
		    uint64_t most)
{
	char bar[BAR * 4 + 1] = "", one[32], two[32], size[40], count[40];
	int n = most ? (int)((double)bytes * BAR / (double)most + 0.5) : 0;

	for (int i = 0; i < n; i++)
		strcat(bar, text_eighth(8));
	snprintf(size, sizeof size, "%s%s", about(d), text_bytes(one, bytes));
	snprintf(count, sizeof count, "%s%s", about(d), text_count(two, blocks));
	page_add(&d->p, ROLE_NUMBER, "  %20s %*s %12s  %s", label, 9 + cells_wider(SIZE_HELD), size, count, bar);
}

static void add_sizes(struct detail *d, const struct scan_ages *s)
{
	uint64_t most = 0;
	char label[64], from[32], to[32];

	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Sizes of live blocks");
	for (size_t i = 0; i < s->size_count; i++)
		most = s->sizes[i].bytes > most ? s->sizes[i].bytes : most;
	for (size_t i = 0; i < s->size_count; i++) {
		uint64_t low =
			s->sizes[i].key && s->sizes[i].key < 64 ? 1ull << s->sizes[i].key : 0;
		snprintf(label, sizeof label, "%s..%s", text_bytes_in(from, low, UNITS_AUTO),
			 text_bytes_in(to, low ? 2 * low - 1 : 1, UNITS_AUTO)); /* powers of two */
		add_bar(d, label, s->sizes[i].blocks, s->sizes[i].bytes, most);
	}
}

/* ": median 3 min, oldest 6 min" */
static const char *median(const struct scan_ages *s, uint64_t now, char *out, size_t size)
{
	uint64_t older = 0, oldest = 0, middle = 0;
	char one[32], two[32];

	for (size_t i = 0; i < s->birth_count; i++) { /* by birth */
		uint64_t age = now > s->births[i].key ? now - s->births[i].key : 0;
		oldest = i ? oldest : age;
		middle = older < s->blocks / 2 + 1 ? age : middle;
		older += s->births[i].blocks;
	}
	if (s->birth_count)
		snprintf(out, size, ": median %s, oldest %s", text_span(one, middle), text_span(two, oldest));
	return out;
}

static void add_ages(struct detail *d, const struct scan_ages *s, uint64_t now)
{
	static const struct { uint64_t seconds; const char *label;
	} steps[] = {
		{1, "< 1 s"},	   {10, "< 10 s"},  {60, "< 1 min"},
		{600, "< 10 min"}, {3600, "< 1 h"}, {UINT64_MAX, "older"},
	};
	uint64_t bytes[6] = { 0 }, blocks[6] = { 0 }, most = 0;

	for (size_t i = 0; i < s->birth_count; i++) {
		uint64_t age = now > s->births[i].key ? (now - s->births[i].key) / 1000000000 : 0;
		int k = 0;
		while (age >= steps[k].seconds)
			k++;
		bytes[k] += s->births[i].bytes;
		blocks[k] += s->births[i].blocks;
	}
	for (int k = 0; k < 6; k++)
		most = bytes[k] > most ? bytes[k] : most;
	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Ages of live blocks%s", median(s, now, (char[96]){ 0 }, 96));
	for (int k = 0; k < 6; k++)
		if (blocks[k])
			add_bar(d, steps[k].label, blocks[k], bytes[k], most);
}

static int by_bytes(const void *a, const void *b)
{
	const struct age_cell *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

#define THREADS_SHOWN 8

static void add_threads(struct detail *d, const struct scan_ages *s)
{
	const struct model *m = d->p.v.app->model;
	struct age_cell *by = xcalloc(s->thread_count + 1, sizeof *by), rest = { 0 };
	char label[64];

	memcpy(by, s->threads, s->thread_count * sizeof *by);
	qsort(by, s->thread_count, sizeof *by, by_bytes);
	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Allocated by");
	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *t = model_thread(m, (uint32_t)by[i].key);
		if (!by[i].blocks)
			continue;
		if (i >= THREADS_SHOWN) {
			rest.blocks += by[i].blocks;
			rest.bytes += by[i].bytes;
			continue;
		}
		if (t && t->known)
			snprintf(label, sizeof label, "%.30s %u", t->name, t->tid);
		else
			snprintf(label, sizeof label, "unknown");
		add_bar(d, label, by[i].blocks, by[i].bytes, by[0].bytes);
	}
	if (rest.blocks)
		add_bar(d, "others", rest.blocks, rest.bytes, by[0].bytes);
	free(by);
}

static void add_figures(struct detail *d, const struct node *n)
{
	const struct tally *t = d->inclusive ? &n->incl : &n->self;
	const struct change *c = d->inclusive ? &n->incl_change : &n->self_change;
	const char *w = about(d);
	char a[32], b[32], e[32], f[32];

	if (d->stacks > 1)
		page_add(&d->p, ROLE_DIM, "Of the %u %s that the row adds up, the one that holds most:",
			 d->stacks, d->inclusive ? "paths" : "stacks");
	page_add(&d->p, ROLE_NORMAL, "Live %s%s in %s%s.  Allocated in all %s%s in %s%s, freed %s%s.",
		 w, text_bytes(a, live_bytes(t)), w, text_blocks(b, live_blocks(t)), w,
		 text_bytes(e, t->alloc_bytes), w, text_blocks(f, t->alloc_blocks), w,
		 text_bytes((char[32]){0}, t->free_bytes));
	if (action_diffing(d->p.v.app)) {
		char interval[320];
		action_interval_name(d->p.v.app, false, interval, sizeof interval);
		page_add(&d->p, ROLE_NORMAL, "%s: born %s%s, gone %s%s, net %s%s.", interval, w,
			 text_bytes(a, c->born_bytes), w, text_bytes(b, c->gone_bytes), w,
			 text_bytes_signed(e, (int64_t)(c->born_bytes - c->gone_bytes)));
	}
	page_add(&d->p, ROLE_NORMAL, "%s", "");
}

static void ask_for_ages(struct detail *d);

static void refresh(struct view *v, bool resort)
{
	struct detail *d = (struct detail *)v;
	const struct node *n = model_node(v->app->model, d->node);
	const struct scan_ages *ages = model_ages(v->app->model);

	(void)resort;
	page_clear(&d->p);
	if (!n) {
		page_add(&d->p, ROLE_WARNING, "this call path is not in the session any more");
		return;
	}
	add_figures(d, n);
	add_stack(d);
	if (v->app->figures.past) {
		page_add(&d->p, ROLE_NORMAL, "%s", "");
		page_add(&d->p, ROLE_DIM, "Sizes, ages and threads: known of now only, not of an instant of the past");
	} else if (d->scanning && ages && ages->request != d->scan_before) {
		add_sizes(d, ages);
		add_ages(d, ages, v->app->figures.at_ns);
		add_threads(d, ages);
	} else if (d->scanning) {
		if (now_ns() - d->asked_ns > PATIENCE_NS && watch_live(v->app->watch))
			ask_for_ages(d); /* it was given up for others' sake, or went with the link */
		page_add(&d->p, ROLE_NORMAL, "%s", "");
		page_add(&d->p, ROLE_DIM, "Sizes, ages and threads: asked for, not here yet");
	}
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_slots(const struct model *m, const struct node *n, uint32_t *slots, size_t *count)
{
	for (uint32_t s = n->first_slot; s && *count < SCAN_SLOTS_MAX;) {
		const struct slot *slot = model_slot(m, s);
		if (!slot)
			break;
		slots[(*count)++] = s;
		s = slot->next_of_node;
	}
}

/* Slots of the node, and of all below it: a walk without a stack, by parent and sibling links. */
static size_t collect(const struct detail *d, uint32_t *slots)
{
	const struct model *m = d->p.v.app->model;
	uint32_t at = d->node;
	size_t count = 0;

	for (;;) {
		const struct node *n = model_node(m, at);
		if (!n)
			return count;
		add_slots(m, n, slots, &count);
		if (d->inclusive && n->first_child != NO_ID) {
			at = n->first_child;
			continue;
		}
		while (at != d->node && n && n->next_sibling == NO_ID) {
			at = n->parent;
			n = model_node(m, at);
		}
		if (at == d->node || !n || count >= SCAN_SLOTS_MAX)
			return count;
		at = n->next_sibling;
	}
}

static void ask_for_ages(struct detail *d)
{
	struct app *a = d->p.v.app;
	const struct scan_ages *ages = model_ages(a->model);
	uint32_t *slots = xcalloc(SCAN_SLOTS_MAX, sizeof *slots);
	size_t n = collect(d, slots);

	qsort(slots, n, sizeof *slots, by_number);
	d->asked_ns = now_ns();
	d->scan_before = ages ? ages->request : 0;
	d->scanning = n > 0 && n < SCAN_SLOTS_MAX && watch_scan(a->watch, MTW_KIND_AGES, slots, n) >= 0;
	free(slots);
}

static bool row(struct view *v, struct view_row *out)
{
	*out = (struct view_row){ .leaf = ((struct detail *)v)->node };
	return true;
}

static const struct view_ops ops = {
	.title = "Detail",
	.brief = "Detail",
	.foci = page_foci,
	.refresh = refresh,
	.draw = page_draw,
	.request = page_request,
	.row = row,
	.search = page_search,
	.next_hit = page_next_hit,
	.free = page_free,
};

struct view *view_detail_new(struct app *a, uint32_t leaf, bool inclusive, uint32_t stacks)
{
	struct detail *d = xcalloc(1, sizeof *d);

	d->p.v = (struct view){ &ops, a };
	d->node = leaf;
	d->inclusive = inclusive;
	d->stacks = stacks;
	ask_for_ages(d);
	return &d->p.v;
}
