/* SPDX-License-Identifier: MIT
 *
 * detail.c - one call path in full: its figures, its frames innermost first, the source around its
 * call site, and the sizes and ages of its blocks. The page requests the agent's scan of the path's
 * slots once, when it opens, and says so until the answer arrives.
 */
#include "views/detail/detail.h"

#include "model/columns.h"
#include "processes/all.h"
#include "views/procs.h"
#include "widgets/judgement.h"

#include <stdlib.h>

#define FRAMES_MAX 512
#define SCAN_SLOTS_MAX 8192
#define PATIENCE_NS 15000000000u

static void add_stack(struct detail *d)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	size_t n = query_stack(d->p.v.ui->shown.query, d->node, frames, FRAMES_MAX);
	bool pointers = false;

	for (size_t i = 0; i < n; i++)
		pointers |= frames[i].by_pointer;
	page_add(&d->p, ROLE_TITLE, "Stack, innermost first (>: the call site%s)",
		 pointers ? "; fp: caller found by frame pointer, no unwind table" : "");
	for (size_t i = 0; i < n; i++) {
		const struct frame_out *f = &frames[i];
		char text[600], place[600] = "", where[400] = "?";
		if (f->file && f->line)
			snprintf(place, sizeof place, "%.500s:%u", f->file, f->line);
		if (f->module && f->has_offset)
			snprintf(where, sizeof where, "%.300s+0x%llx", f->module,
				 (unsigned long long)f->offset);
		else if (f->module)
			snprintf(where, sizeof where, "%.300s 0x%llx", f->module,
				 (unsigned long long)f->address);
		snprintf(text, sizeof text, "%s #%-3zu %.500s%s%s", f->site ? ">" : " ", i,
			 f->function ? f->function : where, f->inlined ? " (inlined)" : "",
			 f->by_pointer ? " (fp)" : "");
		page_add_columns(&d->p, f->function ? ROLE_NAME : ROLE_DIM, text, place,
				 f->function ? (f->module ? f->module : "?") : "no name");
	}
	detail_source(d, frames, n);
	free(frames);
}

#define CALLS_FEW 10 /* below that a fraction tells more */

static void add_rates(struct detail *d, const struct rate *in_all)
{
	const struct model *m = d->p.v.ui->shown.model;
	double calls = model_per_second(m, in_all->blocks),
	       bytes = model_per_second(m, in_all->bytes);
	const char *w = detail_about(d);
	char a[32], b[32];

	if (!figures_rated(&d->p.v.ui->shown.figures))
		page_add(&d->p, ROLE_DIM,
			 "Allocates - calls/s: no state before this one to "
			 "compare with.");
	else if (!figures_over(&d->p.v.ui->shown.figures))
		page_add(&d->p, ROLE_NORMAL, "Allocates %s%s calls/s, %s%s/s.", calls > 0 ? w : "",
			 calls < CALLS_FEW ? text_short(a, calls)
					   : format_count(a, (uint64_t)calls),
			 bytes > 0 ? w : "", text_bytes(b, (uint64_t)bytes));
}

/* Of a diff of two sessions. */
static void add_sides(struct detail *d, const struct tally *b, const struct change *c)
{
	const struct diff_tree *tree = d->p.v.ui->compared;
	const char *w = detail_about(d);
	char n[TEXT_BLOCKS], size[32], net[32], words[200];
	struct diff_judgement judged;

	page_add(&d->p, ROLE_NORMAL, "A: %s%s in %s%s.", w,
		 text_bytes(size, live_bytes(b) - (uint64_t)net_bytes(c)), w,
		 text_blocks(n, live_blocks(b) - (uint64_t)net_blocks(c)));
	page_add(&d->p, ROLE_NORMAL, "B: %s%s in %s%s.  NET %s%s.", w,
		 text_bytes(size, live_bytes(b)), w, text_blocks(n, live_blocks(b)), w,
		 text_bytes_signed(net, net_bytes(c)));
	diff_judge_node(tree, d->node, d->inclusive, &judged);
	judgement_words(tree->d, &judged, words, sizeof words);
	if (*words)
		page_add(&d->p, ROLE_NORMAL, "%s", words);
	page_add(&d->p, ROLE_NORMAL, "%s", "");
}

static void add_figures(struct detail *d)
{
	const struct model *m = d->p.v.ui->shown.model;
	struct amounts v = query_node(d->p.v.ui->shown.query, d->node, d->inclusive);
	const struct tally *t = &v.sum;
	const struct change c = v.change;
	const char *w = detail_about(d);
	char a[32], b[TEXT_BLOCKS], e[32], f[TEXT_BLOCKS];

	if (d->stacks > 1)
		page_add(&d->p, ROLE_DIM,
			 "This row sums %u %s. The one that holds most:", d->stacks,
			 d->inclusive ? "paths" : "stacks");
	if (model_of_sessions(m)) {
		add_sides(d, t, &c);
		return;
	}
	page_add(&d->p, ROLE_NORMAL,
		 "Live %s%s in %s%s.  Allocated in all %s%s in %s%s, freed %s%s.", w,
		 text_bytes(a, live_bytes(t)), w, text_blocks(b, live_blocks(t)), w,
		 text_bytes(e, t->alloc_bytes), w, text_blocks(f, t->alloc_blocks), w,
		 text_bytes((char[32]){ 0 }, t->free_bytes));
	add_rates(d, &v.rate);
	if (model_diffing(d->p.v.ui->shown.model)) {
		char interval[320];
		interval_name(d->p.v.ui->shown.model, false, interval, sizeof interval);
		page_add(&d->p, ROLE_NORMAL, "%s: born %s%s, gone %s%s, net %s%s.", interval, w,
			 text_bytes(a, c.born_bytes), w, text_bytes(b, c.gone_bytes), w,
			 text_bytes_signed(e, (int64_t)(c.born_bytes - c.gone_bytes)));
	}
	page_add(&d->p, ROLE_NORMAL, "%s", "");
}

/* The slots of the node, and of all below it, by id. */
static size_t find_slots(const struct detail *d, uint32_t *list)
{
	const struct heap *h = model_heap(d->p.v.ui->shown.model);
	const struct skeleton *s = h->skeleton;
	uint32_t node = skeleton_find(s, d->node);
	size_t count = 0;

	if (node == NO_ID)
		return 0;
	uint32_t first = skeleton_first(s, node);
	uint32_t last = d->inclusive ? skeleton_last(s, node) : skeleton_first(s, node + 1);
	for (uint32_t id = 0; id < h->slots->ids.end && count < SCAN_SLOTS_MAX; id++) {
		uint32_t stack = slots_stack(h->slots, id);
		if (stack != NO_ID && stack >= first && stack < last)
			list[count++] = id;
	}
	return count;
}

static void collect(struct detail *d)
{
	const struct model *m = d->p.v.ui->shown.model;

	if (!d->slots)
		d->slots = xcalloc(SCAN_SLOTS_MAX, sizeof *d->slots);
	d->slot_count = find_slots(d, d->slots);
	d->slots_whole = d->slot_count < SCAN_SLOTS_MAX;
	d->slots_marks = model_marks_generation(m);
}

#define HOLDERS_SHOWN 12u

/* Of all processes, which hold how much of it. */
static void add_holders(struct detail *d)
{
	const struct processes *p = d->p.v.ui->processes;
	uint32_t chosen = d->holder < d->holder_count ? d->holders[d->holder].id : 0;
	char bytes[32], blocks[TEXT_BLOCKS], words[256];

	free(d->holders);
	size_t n = processes_holding(p, d->slots, d->slot_count, &d->holders);
	const struct process_held *list = d->holders;
	d->holder_count = n < HOLDERS_SHOWN ? n : HOLDERS_SHOWN;
	d->holder = 0;
	for (size_t i = 0; i < d->holder_count; i++)
		d->holder = list[i].id == chosen ? i : d->holder;

	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Held by %zu process%s%s", n, n == 1 ? "" : "es",
		 d->slots_whole ? "" : " (of the first slots alone)");
	for (size_t i = 0; i < d->holder_count; i++) {
		const struct process *one = processes_find(p, list[i].id);
		page_add(&d->p, ROLE_NORMAL, "%s %8s in %-12s %7d  %s", i == d->holder ? ">" : " ",
			 text_bytes(bytes, list[i].bytes), text_blocks(blocks, list[i].blocks),
			 one ? one->pid : 0,
			 one ? process_words(one, words, sizeof words)
			     : "those without call paths");
	}
	if (n > HOLDERS_SHOWN)
		page_add(&d->p, ROLE_DIM, "  %zu more", n - HOLDERS_SHOWN);
}

/* The page closes with the process that it is of. */
static unsigned show_holder(const struct detail *d)
{
	struct ui *ui = d->p.v.ui;
	const struct model *all = ui->shown.model;
	uint32_t id = d->holders[d->holder].id, node = d->node;

	if (!id) {
		status_error("they have no call paths: only their totals are known");
		return VIEW_DRAW;
	}
	if (ui->ops->show_process(ui, id) || ui->shown.model == all)
		return VIEW_DRAW; /* it may come later */
	uint32_t there = all_path_in(all, node, ui->shown.model);
	return there != NO_ID ? ui->ops->show_node(ui, there) : VIEW_DRAW;
}

static const enum focus *foci(struct view *v)
{
	static const enum focus of_all[] = { FOCUS_HOLDERS, FOCUS_TEXT, FOCUS_NONE };

	return ((const struct detail *)v)->holder_count ? of_all : page_foci(v);
}

static unsigned action(struct view *v, enum action r)
{
	struct detail *d = (struct detail *)v;
	size_t n = d->holder_count;

	if (n && r == ACT_HOLDER_SHOW)
		return show_holder(d);
	if (!n || (r != ACT_FOCUS_NEXT && r != ACT_FOCUS_PREV))
		return page_action(v, r);
	d->holder = (d->holder + (r == ACT_FOCUS_NEXT ? 1 : n - 1)) % n;
	return VIEW_REFRESH;
}

static void ask_for_ages(struct detail *d)
{
	struct ui *ui = d->p.v.ui;
	const struct scan_ages *ages = model_ages(ui->shown.model);

	collect(d);
	d->asked_ns = now_ns();
	d->scan_before = ages ? ages->request : 0;
	d->scanning = d->slot_count && d->slots_whole &&
		      watch_scan(ui->shown.watch, MTW_KIND_AGES, d->slots, d->slot_count) >= 0;
}

static void refresh(struct view *v, bool resort)
{
	struct detail *d = (struct detail *)v;
	const struct heap *h = model_heap(v->ui->shown.model);
	const struct scan_ages *ages = model_ages(v->ui->shown.model);

	(void)resort;
	page_clear(&d->p);
	if (skeleton_find(h->skeleton, d->node) == NO_ID) {
		page_add(&d->p, ROLE_WARNING, "this call path is no longer in the session");
		return;
	}
	add_figures(d);
	add_stack(d);
	if (v->ui->compared)
		return; /* of which no block's age, size or thread is known */
	if (d->slots_marks != model_marks_generation(v->ui->shown.model) || ui_of_all(v->ui))
		collect(d);
	if (procs_known(v->ui))
		add_holders(d);
	else
		d->holder_count = 0;
	detail_survival(d);
	if (v->ui->shown.figures.past || (!d->scanning && figures_over(&v->ui->shown.figures))) {
		detail_looked(d);
	} else if (d->scanning && ages && ages->request != d->scan_before) {
		detail_scan(d, ages);
	} else if (d->scanning) {
		uint64_t walked = model_walked(v->ui->shown.model);
		if (now_ns() - d->asked_ns > PATIENCE_NS && !walked &&
		    watch_live(v->ui->shown.watch))
			/* The agent dropped the scan for another viewer's, or the link was lost. */
			ask_for_ages(d);
		page_add(&d->p, ROLE_NORMAL, "%s", "");
		if (walked)
			page_add(&d->p, ROLE_DIM, "Sizes, ages and threads: loading, %llu %%",
				 (unsigned long long)walked - 1);
		else
			page_add(&d->p, ROLE_DIM, "Sizes, ages and threads: loading");
	}
}

static bool row(struct view *v, struct view_row *out)
{
	*out = (struct view_row){ .leaf = ((struct detail *)v)->node };
	return true;
}

static void detail_free(struct view *v)
{
	struct detail *d = (struct detail *)v;

	query_lines(v->ui->shown.query, NULL, NULL, NULL);
	source_release(&d->source);
	free(d->slots);
	free(d->holders);
	page_free(v);
}

static const struct view_ops ops = {
	.title = "Detail",
	.foci = foci,
	.refresh = refresh,
	.draw = page_draw,
	.action = action,
	.row = row,
	.search = page_search,
	.next_hit = page_next_hit,
	.free = detail_free,
};

struct view *view_detail_new(struct ui *ui, uint32_t leaf, bool inclusive, uint32_t stacks)
{
	struct detail *d = xcalloc(1, sizeof *d);

	d->p.v = (struct view){ &ops, ui };
	d->node = leaf;
	d->inclusive = inclusive;
	d->stacks = stacks;
	ask_for_ages(d);
	return &d->p.v;
}
