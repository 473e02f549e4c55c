/* SPDX-License-Identifier: MIT
 *
 * stacks.c - see report/text/text.h. Runs of library frames share a line, since a container
 * has a dozen of them between two functions that matter.
 */
#include "report/text/text.h"

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
static void frame(const struct page *p, const struct frame_out *f, size_t more)
{
	char place[1024], number[32];
	const char *name = f->function;
	size_t room = PAGE_COLUMNS - INDENT, taken;

	if (!name) {
		snprintf(number, sizeof number, "0x%llx",
			 (unsigned long long)(f->has_offset ? f->offset : f->address));
		name = number;
	}
	put_place(f, place, sizeof place);
	if (more)
		snprintf(place, sizeof place, "  (+%zu of std)", more);
	taken = page_columns(place);
	if (page_columns(name) + taken > room && !p->options->full)
		name = wrappers_qualified(name); /* without the type that it returns */
	fprintf(p->out, "%*s", INDENT, "");
	if (page_columns(name) + taken <= room)
		page_put(p, name);
	else if (room >= taken + NAME_LEAST)
		page_name(p, name, room - taken);
	else
		page_name(p, name, room);
	page_put(p, place);
	fputc('\n', p->out);
}

/* The C++ and Rust libraries' own: by name, or by file where an inlined function has a bare name.
 */
static bool internal(const struct frame_out *f)
{
	static const char *const spaces[] = { "std::", "__gnu_cxx::", "core::", "alloc::" };
	const char *name = f->function ? wrappers_qualified(f->function) : "";

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

static void stack(const struct page *p, const struct report_stack *s, struct frame_out *frames)
{
	size_t n = report_stack_frames(p->report, s->stack, frames, FRAMES_MAX), i = 0;
	size_t lines = p->options->full ? FRAMES_MAX : FRAMES_SHOWN;

	for (; i < n && lines; lines--) {
		size_t run = run_of(p, frames, i, n);
		const struct frame_out *f = &frames[i + run - 1];
		/* Skips the frame that stands for the missing rest. */
		if (f->has_offset || f->address || f->module)
			frame(p, f, run - 1);
		i += run;
	}
	if (n > i)
		fprintf(p->out, "%*s... %zu frame%s more\n", INDENT, "", n - i, format_s(n - i));
	uint32_t truncated = report_truncated(p->report, s->stack);
	if (truncated)
		fprintf(p->out, "%*s(ends early: %s)\n", INDENT, "", report_truncation(truncated));
}

void text_stack(const struct page *p, const struct report_stack *s)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER];

	fprintf(p->out, "%10s  in %s %s, owner ",
		page_bytes(live, live_bytes(&s->sum), s->estimate),
		page_count(blocks, live_blocks(&s->sum), s->estimate),
		page_blocks(live_blocks(&s->sum)));
	page_put(p, report_owner(p->report, s->stack)->name);
	if (p->holders.all) {
		size_t n = holders_of_stack(&p->holders, s->stack);
		fprintf(p->out, ", in %zu process%s", n, n == 1 ? "" : "es");
	}
	fputc('\n', p->out);
	stack(p, s, frames);
	free(frames);
}

void text_stacks(const struct page *p)
{
	const struct report *r = p->report;
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER];
	size_t shown = 0;

	page_title(p, "The stacks that hold most, innermost frame first");
	for (; shown < r->stack_count && shown < STACKS_SHOWN; shown++) {
		struct report_stack s = report_stack(r, r->order[shown]);

		if (!live_bytes(&s.sum))
			break;
		text_stack(p, &s);
	}
	if (!shown)
		fputs("         0  nothing is live\n", p->out);
	struct more more = { 0 };
	size_t left = 0;
	for (size_t i = shown; i < r->stack_count; i++) {
		struct report_stack s = report_stack(r, r->order[i]);

		more.bytes += live_bytes(&s.sum);
		more.estimate |= s.estimate && live_bytes(&s.sum);
		left += live_blocks(&s.sum) != 0;
	}
	if (left)
		fprintf(p->out, "%10s  in %s more stack%s\n",
			page_bytes(live, more.bytes, more.estimate), format_count(blocks, left),
			format_s(left));
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
static void born_in_window(const struct page *p, struct report_stack *list, size_t n)
{
	const struct mark *from = model_mark(p->report->model, p->options->from);
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	char bytes[FORMAT_NUMBER], count[FORMAT_NUMBER];
	struct change sum = { 0 };
	bool about = false;

	qsort(list, n, sizeof *list, compare_net);
	for (size_t i = 0; i < n; i++) {
		about |= list[i].estimate;
		sum.born_bytes += list[i].change.born_bytes;
		sum.born_blocks += list[i].change.born_blocks;
	}
	fputs("\nBorn in the window ", p->out);
	page_put(p, from ? from->name : "?");
	fprintf(p->out, " and alive at its end\n%10s  in %s %s, %zu %s\n",
		page_bytes(bytes, sum.born_bytes, about), page_count(count, sum.born_blocks, about),
		page_blocks(sum.born_blocks), n, n == 1 ? "stack" : "stacks");
	for (size_t i = 0; i < n && i < p->top; i++) {
		const struct change *c = &list[i].change;

		fprintf(p->out, "%10s  in %s %s, owner ",
			page_bytes(bytes, c->born_bytes, list[i].estimate),
			page_count(count, c->born_blocks, list[i].estimate),
			page_blocks(c->born_blocks));
		page_put(p, report_owner(p->report, list[i].stack)->name);
		fputc('\n', p->out);
		stack(p, &list[i], frames);
	}
	free(frames);
}

void text_changes(const struct page *p, struct report_stack *list, size_t n)
{
	const struct report_options *o = p->options;
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	const struct mark *from = model_mark(p->report->model, o->from);
	const struct mark *to = model_mark(p->report->model, o->to);
	char net[FORMAT_NUMBER], born[FORMAT_NUMBER], gone[FORMAT_NUMBER];
	struct change sum = { 0 };
	bool about = false;

	if (o->window) {
		born_in_window(p, list, n);
		return;
	}
	qsort(list, n, sizeof *list, compare_net);
	for (size_t i = 0; i < n; i++) {
		about |= list[i].estimate;
		sum.born_bytes += list[i].change.born_bytes;
		sum.gone_bytes += list[i].change.gone_bytes;
	}
	fputs("\nChanges from ", p->out);
	page_put(p, o->from && from ? from->name : "start");
	fputs(" to ", p->out);
	page_put(p, o->to && to ? to->name : "now");
	fputc('\n', p->out);
	fprintf(p->out, "%10s  %9s %11s\n", "NET", "BORN", "GONE");
	fprintf(p->out, "%10s  %9s %11s   all %zu stack%s that changed\n",
		page_signed(net, (int64_t)(sum.born_bytes - sum.gone_bytes), about),
		page_bytes(born, sum.born_bytes, about), page_bytes(gone, sum.gone_bytes, about), n,
		format_s(n));
	for (size_t i = 0; i < n && i < p->top; i++) {
		const struct change *c = &list[i].change;

		fprintf(p->out, "%10s  %9s %11s   owner ",
			page_signed(net, (int64_t)(c->born_bytes - c->gone_bytes),
				    list[i].estimate),
			page_bytes(born, c->born_bytes, list[i].estimate),
			page_bytes(gone, c->gone_bytes, list[i].estimate));
		page_put(p, report_owner(p->report, list[i].stack)->name);
		fputc('\n', p->out);
		stack(p, &list[i], frames);
	}
	free(frames);
}
