/* SPDX-License-Identifier: MIT
 *
 * stacks.c - see report/text/text.h. Runs of library frames share a line, since a container
 * has a dozen of them between two functions that matter.
 */
#include "report/text/text.h"

#include "base/columns.h"
#include "base/name.h"
#include "owners/wrappers.h"
#include "report/frames.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_SHOWN 5
#define FRAMES_MAX 512
#define FRAMES_SHOWN 24
#define INDENT 13
#define NAME_LEAST 24 /* columns for a function beside its place */

/* "  file.c:12  libx.so  (inlined)" */
static void put_place(const struct frame_out *f, char *buf, size_t size)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	char line[16] = "";

	if (f->file)
		snprintf(line, sizeof line, ":%u", f->line);
	snprintf(buf, size, "%s%s%s%s%s%s%s", f->file ? "  " : "",
		 f->file ? (slash ? slash + 1 : f->file) : "", line, f->module ? "  " : "",
		 f->module ? f->module : "", f->inlined ? "  (inlined)" : "",
		 f->by_pointer ? "  (fp)" : "");
}

/* The function gets the columns that its place leaves, or a line of its own. more: frames of
 * libraries that it stands for. */
static void frame(const struct page *p, const struct frame_out *f, size_t more, struct listing *t)
{
	char place[1024], number[32];
	const char *name = f->function;
	size_t room = COLUMNS_OF_TEXT - INDENT, taken;

	if (!name) {
		snprintf(number, sizeof number, "0x%llx",
			 (unsigned long long)(f->has_offset ? f->offset : f->address));
		name = number;
	}
	put_place(f, place, sizeof place);
	if (more)
		snprintf(place, sizeof place, "  (+%zu of std)", more);
	taken = columns_of(place);
	if (columns_of(name) + taken > room && !p->options->full)
		name = name_qualified(name); /* without the type that it returns */
	listing_row(t);
	page_put(listing_name(t, name, f->function, NULL, room >= taken + NAME_LEAST ? taken : 0),
		 place);
}

/* The C++ and Rust libraries' own: by name, or by file where an inlined function has a bare name.
 */
static bool internal(const struct frame_out *f)
{
	static const char *const spaces[] = { "std::", "__gnu_cxx::", "core::", "alloc::" };
	const char *name = f->function ? name_qualified(f->function) : "";

	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (!strncmp(name, spaces[i], strlen(spaces[i])))
			return true;
	return f->file && (strstr(f->file, "/include/c++/") || strstr(f->file, "/rustc/"));
}

/* How many frames from i on one line stands for: a run of library frames. Its outermost is what
 * the program called. */
static size_t run_of(const struct page *p, const struct frame_out *frames, size_t i, size_t n)
{
	size_t end = i;

	while (!p->options->full && end < n && internal(&frames[end]))
		end++;
	return end > i ? end - i : 1;
}

static void stack(const struct page *p, const struct report_stack *s, struct frame_out *frames,
		  FILE *out)
{
	static const struct listing_column column = { NULL, LISTING_LEFT, 0, INDENT };
	struct listing *t = listing_new(&column, 1, p->options->full ? 0 : COLUMNS_OF_TEXT);
	size_t n = report_stack_frames(p->report, s->stack, frames, FRAMES_MAX), i = 0;
	size_t lines = p->options->full ? FRAMES_MAX : FRAMES_SHOWN;

	for (; i < n && lines; lines--) {
		size_t run = run_of(p, frames, i, n);
		const struct frame_out *f = &frames[i + run - 1];
		/* Skips the frame that stands for the missing rest. */
		if (f->has_offset || f->address || f->module)
			frame(p, f, run - 1, t);
		i += run;
	}
	if (n > i) {
		listing_row(t);
		fprintf(listing_cell(t), "... %zu frame%s more", n - i, format_s(n - i));
	}
	uint32_t truncated = report_truncated(p->report, s->stack);
	if (truncated) {
		listing_row(t);
		fprintf(listing_cell(t), "(ends early: %s)", report_truncation(truncated));
	}
	listing_end(t, out);
}

/* "     14.0M  in 12 blocks, owner libx.so", and the frames below. */
static void put_stack(const struct page *p, const struct report_stack *s, uint64_t bytes,
		      uint64_t blocks, struct listing *t)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	char n[FORMAT_NUMBER];

	listing_row(t);
	listing_put(t, page_bytes(n, bytes, s->estimate));
	FILE *out = listing_cell(t);
	fprintf(out, "in %s %s, owner ", page_count(n, blocks, s->estimate), page_blocks(blocks));
	page_put(out, report_owner(p->report, s->stack)->name);
	if (p->holders.all && !p->options->window) {
		size_t processes = holders_of_stack(&p->holders, s->stack);
		fprintf(out, ", in %zu process%s", processes, processes == 1 ? "" : "es");
	}
	stack(p, s, frames, listing_below(t));
	free(frames);
}

static struct listing *stacks_listing(void)
{
	static const struct listing_column columns[] = { { NULL, LISTING_RIGHT, 10, 0 },
							 { NULL, LISTING_LEFT, 0, 2 } };

	return listing_new(columns, 2, 0);
}

void text_stack(const struct page *p, const struct report_stack *s)
{
	struct listing *t = stacks_listing();

	put_stack(p, s, live_bytes(&s->sum), live_blocks(&s->sum), t);
	listing_end(t, p->out);
}

/* How many stacks beside the first ones hold blocks, and how much: in the order of the tree. */
static size_t count_more(const struct report *r, size_t shown, struct more *more)
{
	const struct sums *sums = r->heap->sums;
	struct running_reader all = { .of = &sums->sum };
	size_t count = 0;

	for (uint32_t k = 0; k < sums->stacks; k++) {
		struct tally t = tally_of_quad(running_next(&all));
		size_t i = 0;

		while (i < shown && r->order[i] != k)
			i++;
		if (i < shown)
			continue;
		more->bytes += live_bytes(&t);
		more->estimate |= bit_of(sums->estimate_bits, k) && live_bytes(&t);
		count += live_blocks(&t) != 0;
	}
	return count;
}

void text_stacks(const struct page *p)
{
	const struct report *r = p->report;
	struct listing *t = stacks_listing();
	char n[FORMAT_NUMBER];
	size_t shown = 0;

	page_title(p, "The stacks that hold most, innermost frame first");
	for (; shown < r->stack_count && shown < STACKS_SHOWN; shown++) {
		struct report_stack s = report_stack(r, r->order[shown]);

		if (!live_bytes(&s.sum))
			break;
		put_stack(p, &s, live_bytes(&s.sum), live_blocks(&s.sum), t);
	}
	if (!shown) {
		listing_row(t);
		listing_put(t, "0");
		listing_put(t, "nothing is live");
	}
	struct more more = { 0 };
	size_t left = count_more(r, shown, &more);
	if (left) {
		listing_row(t);
		listing_put(t, page_bytes(n, more.bytes, more.estimate));
		fprintf(listing_cell(t), "in %s more stack%s", format_count(n, left),
			format_s(left));
	}
	listing_end(t, p->out);
}

static int compare_net(const void *pa, const void *pb)
{
	const struct report_stack *a = pa, *b = pb;
	int64_t na = (int64_t)(a->change.born_bytes - a->change.gone_bytes);
	int64_t nb = (int64_t)(b->change.born_bytes - b->change.gone_bytes);

	if (na != nb)
		return na > nb ? -1 : 1;
	return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

/* Changes of a window have nothing that is gone. */
static void born_in_window(const struct page *p, const struct report_stack *list, size_t n)
{
	const struct mark *from = model_mark(p->report->model, p->options->from);
	struct listing *t = stacks_listing();
	char text[FORMAT_NUMBER];
	struct change sum = { 0 };
	bool about = false;

	for (size_t i = 0; i < n; i++) {
		about |= list[i].estimate;
		sum.born_bytes += list[i].change.born_bytes;
		sum.born_blocks += list[i].change.born_blocks;
	}
	fputs("\nBorn in the window ", p->out);
	page_put(p->out, from ? from->name : "?");
	fputs(" and alive at its end\n", p->out);
	listing_row(t);
	listing_put(t, page_bytes(text, sum.born_bytes, about));
	fprintf(listing_cell(t), "in %s %s, %zu %s", page_count(text, sum.born_blocks, about),
		page_blocks(sum.born_blocks), n, n == 1 ? "stack" : "stacks");
	for (size_t i = 0; i < n && i < p->top; i++)
		put_stack(p, &list[i], list[i].change.born_bytes, list[i].change.born_blocks, t);
	listing_end(t, p->out);
}

static void put_change(struct listing *t, const struct change *c, bool estimate)
{
	char n[FORMAT_NUMBER];

	listing_row(t);
	listing_put(t, page_signed(n, (int64_t)(c->born_bytes - c->gone_bytes), estimate));
	listing_put(t, page_bytes(n, c->born_bytes, estimate));
	listing_put(t, page_bytes(n, c->gone_bytes, estimate));
}

static void add_change(struct change *sum, const struct change *c)
{
	sum->born_bytes += c->born_bytes;
	sum->gone_bytes += c->gone_bytes;
}

static void put_rest_of_changes(const struct report_stack *list, size_t n, struct listing *t)
{
	struct change sum = { 0 };
	char count[FORMAT_NUMBER];
	bool about = false;

	for (size_t i = 0; i < n; i++) {
		add_change(&sum, &list[i].change);
		about |= list[i].estimate;
	}
	put_change(t, &sum, about);
	fprintf(listing_cell(t), "%s more", format_count(count, n));
}

/* The other stacks. What a stack held between two marks is not known here. */
static void put_unchanged(const struct page *p, const struct report_stack *list, size_t n,
			  struct listing *t)
{
	const struct report *r = p->report;
	struct change none = { 0 };
	size_t held = 0;
	char count[FORMAT_NUMBER];

	if (p->options->to)
		return;
	for (size_t i = 0; i < r->stack_count; i++) {
		struct report_stack s = report_stack(r, r->order[i]);
		held += live_blocks(&s.sum) != 0;
	}
	for (size_t i = 0; i < n; i++)
		held -= live_blocks(&list[i].sum) != 0;
	size_t empty = r->stack_count - n - held;
	if (held) {
		put_change(t, &none, false);
		fprintf(listing_cell(t), "%s unchanged", format_count(count, held));
	}
	if (empty) {
		put_change(t, &none, false);
		fprintf(listing_cell(t), "%s more without memory", format_count(count, empty));
	}
}

void text_changes(const struct page *p, struct report_stack *list, size_t n)
{
	const struct report_options *o = p->options;
	const struct mark *from = model_mark(p->report->model, o->from);
	const struct mark *to = model_mark(p->report->model, o->to);
	struct change sum = { 0 };
	bool about = false;

	qsort(list, n, sizeof *list, compare_net);
	if (o->window) {
		born_in_window(p, list, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		about |= list[i].estimate;
		add_change(&sum, &list[i].change);
	}
	fputs("\nChanges from ", p->out);
	page_put(p->out, o->from && from ? from->name : "start");
	fputs(" to ", p->out);
	page_put(p->out, o->to && to ? to->name : "now");
	fputc('\n', p->out);
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	struct listing *t =
		page_listing(p, (const char *const[]){ "NET", "BORN", "GONE", "" }, false);
	put_change(t, &sum, about);
	fprintf(listing_cell(t), "all %zu stack%s that changed", n, format_s(n));
	for (size_t i = 0; i < n && i < p->top; i++) {
		put_change(t, &list[i].change, list[i].estimate);
		FILE *out = listing_cell(t);
		fputs("owner ", out);
		page_put(out, report_owner(p->report, list[i].stack)->name);
		stack(p, &list[i], frames, listing_below(t));
	}
	if (n > p->top)
		put_rest_of_changes(&list[p->top], n - p->top, t);
	put_unchanged(p, list, n, t);
	listing_end(t, p->out);
	free(frames);
}
