/* SPDX-License-Identifier: MIT
 *
 * text.c - the report for people: the answer first (what happened, how much, which owner), then the
 * stacks that hold most. Every cut says what it left out, so that columns add up.
 */
#include "base/columns.h"
#include "base/sanitize.h"
#include "report/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 12
#define PIECE 56 /* bytes of an argument in a line */

/* Quotes for a shell; free() it. */
static char *quoted(const char *s, size_t len)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		base_out_of_memory();
	bool plain = len && strcspn(s, " \t\n'\"\\`$*?[](){}<>|&;#~!") >= len;
	fputs(plain ? "" : "'", out);
	for (const char *end = s + len; s < end;) {
		size_t n = 0;
		while (s + n < end && s[n] != '\'')
			n++;
		sanitize_put(out, s, n);
		s += n;
		if (s < end)
			fputs("'\\''", out), s++;
	}
	fputs(plain ? "" : "'", out);
	fclose(out);
	return text;
}

/* A line that is full goes on below, and so does a word that is too long: a shell joins both. */
static void put_argument(const struct page *p, const char *s, size_t *column)
{
	const char *between = " ", *broken = " \\\n  ";

	do {
		size_t len = strlen(s), part = len;
		if (!p->options->full && len > PIECE + PIECE / 4)
			for (part = PIECE; ((unsigned char)s[part] & 0xc0) == 0x80;)
				part--;
		char *text = quoted(s, part);
		size_t columns = columns_of(text);
		bool fits = p->options->full || *column + columns + 3 <= COLUMNS_OF_TEXT;
		fprintf(p->out, "%s%s", fits ? between : broken, text);
		*column = (fits ? *column + strlen(between) : strlen(broken) - 3) + columns;
		free(text);
		s += part;
		between = "";
		broken = "\\\n";
	} while (*s);
}

/* A fork counts time since its parent's program began, and so do its marks and its timeline. */
static void put_when(const struct page *p)
{
	const struct processes *all = p->options->processes;
	const struct process *own = all ? processes_find(all, p->options->process) : NULL;
	double seconds = (double)model_time(p->report->model) / 1e9;

	if (own && own->forked && own->end_ns)
		fprintf(p->out, " at %.1f s, %.1f s after its fork\n", seconds,
			(double)(own->end_ns - own->begin_ns) / 1e9);
	else
		fprintf(p->out, " after %.1f s\n", seconds);
}

/* Omits the empty arguments left by a program that writes a title over its own (setproctitle). */
static void put_command(const struct page *p, const struct program *g)
{
	size_t n = g->arg_count, kept = n;

	while (kept > 1 && !*g->args[kept - 1])
		kept--;
	if (kept != 1 || !strchr(g->args[0], ' '))
		kept = n; /* no title: the empty arguments are real */
	size_t column = (size_t)fprintf(p->out, "command:");
	for (size_t i = 0; i < kept; i++)
		put_argument(p, g->args[i], &column);
	fputc('\n', p->out);
}

/* "All of make [4121]: 14 processes  exited with status 0 after 2.0 s" */
static void head_of_all(const struct page *p)
{
	const struct model *m = p->report->model;
	const struct process *first = processes_find(p->options->processes, 1);
	size_t with = all_members(p->options->all), n = with + all_others(p->options->all);
	char name[256], end[REPORT_END], count[FORMAT_NUMBER];

	fprintf(p->out, "All of %s [%d]: %s process%s  %s",
		sanitize_clean(name, sizeof name, first->name), first->pid, format_count(count, n),
		n == 1 ? "" : "es", report_end(m, end));
	put_when(p);
}

static void head(const struct page *p)
{
	const struct model *m = p->report->model;
	const struct program *g = model_program(m);
	char name[256], end[REPORT_END], pid[REPORT_PID];

	fprintf(p->out, "%s [%s]  %s", sanitize_clean(name, sizeof name, *g->name ? g->name : "?"),
		report_pid(p->report->pid, p->report->inner_pid, pid), report_end(m, end));
	put_when(p);
	put_command(p, g);
}

static void own_memory(const struct page *p, struct listing *t)
{
	const struct memory_part *parts;
	size_t n = model_memory(p->report->model, &parts);
	FILE *out = n ? listing_below(t) : NULL;
	char a[FORMAT_NUMBER];

	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s%s ", i ? ", " : "           of it ",
			format_bytes(a, parts[i].bytes));
		page_put(out, parts[i].name);
	}
	if (n)
		fputc('\n', out);
}

/* "live         14.0M": what follows is written to what it returns. */
static FILE *put_figure(struct listing *t, const char *word, const char *figure)
{
	listing_row(t);
	listing_put(t, word);
	listing_put(t, figure);
	return listing_cell(t);
}

/* memtop's own cost, and the quality of its stacks. */
static void own_cost(const struct page *p, struct listing *t)
{
	const struct model *m = p->report->model;
	struct quality q;
	char a[FORMAT_NUMBER], b[QUALITY_TEXT], share[QUALITY_TEXT + 2];

	quality_of(m, &q);
	FILE *out = put_figure(t, "agent", format_bytes(a, model_totals(m)->agent_memory_bytes));
	if (!isnan(q.cost.both))
		fprintf(out, ", ~%s %% of the cpu time", quality_within(b, &q.cost));
	else if (!isnan(q.of_a_core))
		fprintf(out, ", ~%.1f %% of one core", q.of_a_core);
	own_memory(p, t);
	if (isnan(q.whole))
		return;
	snprintf(share, sizeof share, "%s %%", quality_share(b, q.whole));
	out = put_figure(t, "stacks", share);
	fputs(" whole", out);
	if (q.pointer_blocks)
		fprintf(out, ", %s %% by frame pointers in part", quality_share(b, q.by_pointer));
	if (!isnan(q.remembered))
		fprintf(out, ", %s %% remembered", quality_share(b, q.remembered));
	if (!isnan(q.frames))
		fprintf(out, ", else %.1f frames walked", q.frames);
}

static void put_sum(struct listing *t, const char *word, uint64_t bytes, uint64_t blocks,
		    bool about)
{
	char a[FORMAT_NUMBER], b[FORMAT_NUMBER];

	fprintf(put_figure(t, word, page_bytes(a, bytes, about)), " in %s %s",
		page_count(b, blocks, about), page_blocks(blocks));
}

static void totals(const struct page *p)
{
	static const struct listing_column columns[] = { { NULL, LISTING_LEFT, 9, 0 },
							 { NULL, LISTING_RIGHT, 9, 2 },
							 { NULL, LISTING_LEFT, 0, 0 } };
	const struct totals *t = model_totals(p->report->model);
	struct listing *l = listing_new(columns, 3, 0);
	char a[FORMAT_NUMBER];
	bool about = model_estimate(p->report->model);
	uint64_t rss, virt;
	uint32_t threads, children;

	fputc('\n', p->out);
	put_sum(l, "live", live_bytes(&t->sum), live_blocks(&t->sum), about);
	put_sum(l, "allocated", t->sum.alloc_bytes, t->sum.alloc_blocks, about);
	put_sum(l, "freed", t->sum.free_bytes, t->sum.free_blocks, about);
	FILE *out = put_figure(l, "peak", page_bytes(a, t->peak_bytes, about));
	fprintf(out, " at %.1f s", (double)t->peak_time_ns / 1e9);
	if (t->peak_error_bytes)
		fprintf(out, " (to within %s)", page_bytes(a, t->peak_error_bytes, about));
	if (model_process(p->report->model, &rss, &virt, &threads, &children) && rss)
		fputs(" (RSS, last seen)", put_figure(l, "resident", format_bytes(a, rss)));
	own_cost(p, l);
	listing_end(l, p->out);
}

static void put_verdict(const struct page *p)
{
	struct verdict v;

	query_verdict(p->query, &v);
	page_put(p->out, v.text);
	fputc('\n', p->out);
}

static void warnings(const struct page *p)
{
	if (p->report->warning_count)
		fputc('\n', p->out);
	for (size_t i = 0; i < p->report->warning_count; i++) {
		fputs("! ", p->out);
		page_put(p->out, p->report->warnings[i]);
		fputc('\n', p->out);
	}
}

static void put_page(struct page *p, struct watch *w, struct report_stack *changed, size_t n)
{
	const struct report_options *o = p->options;

	if (o->processes && processes_count(o->processes) > 1)
		report_tree_text(o->processes, o->process, p->out);
	(o->all ? head_of_all : head)(p);
	fputc('\n', p->out);
	put_verdict(p);
	totals(p);
	warnings(p);
	if (!o->all)
		report_text_resident(w, p->report->model, p->out);
	if (!o->window) {
		text_libraries(p);
		text_sites(p);
	}
	if (o->changes)
		text_changes(p, changed, n);
	if (!o->window)
		text_stacks(p);
	text_cuts(p);
	p->missing = watch_missing(w, MTW_KIND_THREADS);
	text_threads(p);
	text_marks(p);
	if (!o->all)
		report_text_ages(w, p->report->model, p->out);
}

static int write_report(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
			struct err *err)
{
	struct page p = { .report = report_new(w),
			  .query = q,
			  .options = o,
			  .top = o->top ? o->top : TOP_DEFAULT };
	struct report_stack *changed = NULL;
	size_t changed_count = 0, size;
	char *text = NULL;
	int rc = -1;

	holders_init(&p.holders, p.report, o->all);
	if (o->changes && !(changed = report_changes(p.report, o, &changed_count, err)))
		goto out;
	if (o->changes && !o->to) {
		p.changed = changed;
		p.changed_count = changed_count;
	}
	p.out = open_memstream(&text, &size);
	if (!p.out)
		base_out_of_memory();
	put_page(&p, w, changed, changed_count);
	fclose(p.out);
	if (o->full)
		fputs(text, out);
	else
		columns_wrap(text, out);
	rc = report_flush(out, err);
out:
	free(text);
	free(changed);
	holders_release(&p.holders);
	report_free(p.report);
	return rc;
}

const struct report_format report_text = {
	.name = "text",
	.ending = ".txt",
	.write = write_report,
	.about = "for people: 80 columns, as for a ticket",
};
