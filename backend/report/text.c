/* SPDX-License-Identifier: MIT
 *
 * text.c - the report for people: the answer first (what happened, how much, which owner), then the
 * stacks that hold most. Every cut says what it left out, so that columns add up.
 */
#include "report/report.h"

#include "report/text_looks.h"
#include "report/text_processes.h"
#include "base/sanitize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 12
#define STACKS_SHOWN 5
#define FRAMES_MAX 512
#define FRAMES_SHOWN 24

struct page {
	FILE *out;
	struct report *report;
	struct query *query;
	const struct report_options *options;
	size_t top;
	const char *missing; /* why it is not known what each thread holds; NULL = it is */
};

static void put_clean(const struct page *p, const char *s)
{
	sanitize_put(p->out, s, strlen(s));
}

/* Quotes a word for a shell. */
static void put_word(const struct page *p, const char *s)
{
	if (*s && !s[strcspn(s, " \t\n'\"\\`$*?[](){}<>|&;#~!")]) {
		put_clean(p, s);
		return;
	}
	fputc('\'', p->out);
	for (const char *quote; (quote = strchr(s, '\'')); s = quote + 1) {
		sanitize_put(p->out, s, (size_t)(quote - s));
		fputs("'\\''", p->out);
	}
	put_clean(p, s);
	fputc('\'', p->out);
}

static void title(const struct page *p, const char *text)
{
	fprintf(p->out, "\n%s\n", text);
}

/* "~14.0M" for amounts with a sampled share. */
static const char *bytes_of(char buf[FORMAT_NUMBER], uint64_t bytes, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes && estimate ? "~" : "",
		 format_bytes(plain, bytes));
	return buf;
}

static const char *count_of(char buf[FORMAT_NUMBER], uint64_t n, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", n && estimate ? "~" : "", format_count(plain, n));
	return buf;
}

static const char *signed_of(char buf[FORMAT_NUMBER], int64_t bytes, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes && estimate ? "~" : "",
		 format_signed(plain, bytes));
	return buf;
}

/* The rows that a cut table left out. */
struct more {
	uint64_t bytes;
	bool estimate;
};

/* "... 1,204 more hold 3.2M" under a table that was cut. */
static void rest(const struct page *p, size_t count, const struct more *m, const char *what)
{
	char n[FORMAT_NUMBER], b[FORMAT_NUMBER];

	if (count)
		fprintf(p->out, "%10s  %9s %11s   %s more %s\n", bytes_of(b, m->bytes, m->estimate),
			"", "...", format_count(n, count), what);
}

static void row_head(const struct page *p, const char *name)
{
	fprintf(p->out, "%10s  %9s %11s   %s\n", "LIVE", "BLOCKS", "ALLOCATED", name);
}

static const char *word_blocks(uint64_t count)
{
	return count == 1 ? "block" : "blocks";
}

static void row_numbers(const struct page *p, const struct tally *t, bool estimate)
{
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER], alloc[FORMAT_NUMBER];

	fprintf(p->out, "%10s  %9s %11s   ", bytes_of(live, live_bytes(t), estimate),
		count_of(blocks, live_blocks(t), estimate),
		bytes_of(alloc, t->alloc_bytes, estimate));
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
	fputs("command: ", p->out);
	for (size_t i = 0; i < kept; i++) {
		fputs(i ? " " : "", p->out);
		put_word(p, g->args[i]);
	}
	fputc('\n', p->out);
}

static void head(const struct page *p)
{
	const struct model *m = p->report->model;
	const struct program *g = model_program(m);
	int status;
	bool known;
	uint32_t state = model_state(m, &status, &known);
	char name[256], signal[FORMAT_SIGNAL];

	fprintf(p->out, "%s [%u]  ", sanitize_clean(name, sizeof name, *g->name ? g->name : "?"),
		g->pid);
	if (state == MTW_EXITED && known)
		fprintf(p->out, "exited with status %d", status);
	else if (state == MTW_SIGNALLED && known)
		fprintf(p->out, "ended by %s", format_signal(status, signal));
	else if (state == MTW_LINK_LOST)
		fprintf(p->out, "link lost");
	else if (state == MTW_CUT)
		fprintf(p->out, "recording cut off");
	else if (state == MTW_EXITED)
		fprintf(p->out, "ended (how is not known)");
	else
		fputs(report_state(state, known), p->out);
	put_when(p);
	put_command(p, g);
}

static void own_memory(const struct page *p)
{
	const struct memory_part *parts;
	size_t n = model_memory(p->report->model, &parts);
	char a[FORMAT_NUMBER];

	for (size_t i = 0; i < n; i++) {
		fprintf(p->out, "%s%s ", i ? ", " : "           of it ",
			format_bytes(a, parts[i].bytes));
		put_clean(p, parts[i].name);
	}
	if (n)
		fputc('\n', p->out);
}

/* memtop's own cost, and the quality of its stacks. */
static void own_cost(const struct page *p)
{
	const struct model *m = p->report->model;
	struct quality q;
	char a[FORMAT_NUMBER], b[QUALITY_TEXT];

	quality_of(m, &q);
	fprintf(p->out, "agent      %9s", format_bytes(a, model_totals(m)->agent_memory_bytes));
	if (!isnan(q.hooks))
		fprintf(p->out, ", ~%.1f %% of one core", q.hooks + q.server);
	if (!isnan(q.of_program))
		fprintf(p->out, ", ~%.1f %% of the program's cpu time", q.of_program);
	fputc('\n', p->out);
	own_memory(p);
	if (isnan(q.whole))
		return;
	fprintf(p->out, "stacks     %7s %% whole", quality_share(b, q.whole));
	if (q.pointer_blocks)
		fprintf(p->out, ", %s %% by frame pointers in part",
			quality_share(b, q.by_pointer));
	if (!isnan(q.remembered))
		fprintf(p->out, ", %s %% remembered", quality_share(b, q.remembered));
	if (!isnan(q.frames))
		fprintf(p->out, ", else %.1f frames walked", q.frames);
	fputc('\n', p->out);
}

static void totals(const struct page *p)
{
	const struct totals *t = model_totals(p->report->model);
	char a[FORMAT_NUMBER], b[FORMAT_NUMBER];
	bool about = model_estimate(p->report->model);
	uint64_t rss, virt;
	uint32_t threads, children;

	fprintf(p->out, "\nlive       %9s in %s %s\n", bytes_of(a, live_bytes(&t->sum), about),
		count_of(b, live_blocks(&t->sum), about), word_blocks(live_blocks(&t->sum)));
	fprintf(p->out, "allocated  %9s in %s %s\n", bytes_of(a, t->sum.alloc_bytes, about),
		count_of(b, t->sum.alloc_blocks, about), word_blocks(t->sum.alloc_blocks));
	fprintf(p->out, "freed      %9s in %s %s\n", bytes_of(a, t->sum.free_bytes, about),
		count_of(b, t->sum.free_blocks, about), word_blocks(t->sum.free_blocks));
	fprintf(p->out, "peak       %9s at %.1f s", bytes_of(a, t->peak_bytes, about),
		(double)t->peak_time_ns / 1e9);
	if (t->peak_error_bytes)
		fprintf(p->out, " (to within %s)", bytes_of(a, t->peak_error_bytes, about));
	fputc('\n', p->out);
	if (model_process(p->report->model, &rss, &virt, &threads, &children) && rss)
		fprintf(p->out, "resident   %9s (RSS, last seen)\n", format_bytes(a, rss));
	own_cost(p);
}

static void verdict(const struct page *p)
{
	struct verdict v;

	query_verdict(p->query, &v);
	if (v.text[0]) {
		fputc('\n', p->out);
		put_clean(p, v.text);
		fputc('\n', p->out);
	}
}

static void warnings(const struct page *p)
{
	if (p->report->warning_count)
		fputc('\n', p->out);
	for (size_t i = 0; i < p->report->warning_count; i++) {
		fputs("! ", p->out);
		put_clean(p, p->report->warnings[i]);
		fputc('\n', p->out);
	}
}

static void libraries(const struct page *p)
{
	const struct owner *list = NULL;
	size_t n = owners_update(p->report->owners, &list), shown = n < p->top ? n : p->top;
	struct more more = { 0 };

	title(p, "Memory by owner library (allocation wrappers skipped)");
	row_head(p, "LIBRARY");
	for (size_t i = 0; i < n; i++) {
		if (i >= shown) {
			more.bytes += live_bytes(&list[i].sum);
			more.estimate |= list[i].sampled != 0;
			continue;
		}
		row_numbers(p, &list[i].sum, list[i].sampled);
		put_clean(p, list[i].name);
		fputc('\n', p->out);
	}
	rest(p, n - shown, &more, "libraries");
}

static void site_name(const struct page *p, const struct site *s)
{
	const char *slash = s->file ? strrchr(s->file, '/') : NULL;

	put_clean(p, s->name ? s->name : "?");
	if (s->caller && *s->caller) {
		fputs(" < ", p->out);
		put_clean(p, s->caller);
	}
	if (s->file) {
		fputs("  ", p->out);
		put_clean(p, slash ? slash + 1 : s->file);
		fprintf(p->out, ":%u", s->line);
	}
	if (s->owner) {
		fputs("  ", p->out);
		put_clean(p, s->owner->name);
	}
	fputs(s->flags & ROW_EXPECTED ? "  (expected)\n" : "\n", p->out);
}

/* For a program that freed everything, only its allocations tell. */
static int compare_sites(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	uint64_t x_live = live_bytes(&x->sum), y_live = live_bytes(&y->sum);

	if (x_live != y_live)
		return x_live < y_live ? 1 : -1;
	if (x->sum.alloc_bytes != y->sum.alloc_bytes)
		return x->sum.alloc_bytes < y->sum.alloc_bytes ? 1 : -1;
	return (x > y) - (x < y);
}

static void sites(const struct page *p)
{
	const struct site *list = NULL, **all;
	size_t n = query_sites(p->query, BY_LIVE, false, true, &list);
	size_t shown = n < p->top ? n : p->top;
	struct more more = { 0 };

	all = xcalloc(n, sizeof(const struct site *));
	for (size_t i = 0; i < n; i++)
		all[i] = &list[i];
	qsort(all, n, sizeof(const struct site *), compare_sites);
	title(p, "Call sites, most live memory first");
	row_head(p, "CALL SITE < CALLER");
	for (size_t i = 0; i < n; i++) {
		if (i >= shown) {
			more.bytes += live_bytes(&all[i]->sum);
			more.estimate |= all[i]->estimate;
			continue;
		}
		row_numbers(p, &all[i]->sum, all[i]->estimate);
		site_name(p, all[i]);
	}
	free(all);
	rest(p, n - shown, &more, "call sites");
}

static void frame(const struct page *p, const struct frame_out *f)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;

	fputs("             ", p->out);
	if (f->function)
		put_clean(p, f->function);
	else if (f->has_offset)
		fprintf(p->out, "0x%llx", (unsigned long long)f->offset);
	else
		fprintf(p->out, "0x%llx", (unsigned long long)f->address);
	if (f->file) {
		fputs("  ", p->out);
		put_clean(p, slash ? slash + 1 : f->file);
		fprintf(p->out, ":%u", f->line);
	}
	if (f->module) {
		fputs("  ", p->out);
		put_clean(p, f->module);
	}
	fputs(f->inlined ? "  (inlined)" : "", p->out);
	fputs(f->by_pointer ? "  (fp)\n" : "\n", p->out);
}

static void stack(const struct page *p, const struct report_stack *s, struct frame_out *frames)
{
	size_t n = query_stack(p->query, s->leaf, frames, FRAMES_MAX);
	size_t shown = n < FRAMES_SHOWN ? n : FRAMES_SHOWN;

	for (size_t i = 0; i < shown; i++)
		/* Skips the frame that stands for the missing rest. */
		if (frames[i].has_offset || frames[i].address || frames[i].module)
			frame(p, &frames[i]);
	if (n > shown)
		fprintf(p->out, "             ... %zu frames more\n", n - shown);
	if (s->truncated)
		fprintf(p->out, "             (ends early: %s)\n", report_truncation(s->truncated));
}

static void stacks(const struct page *p, struct frame_out *frames)
{
	const struct report *r = p->report;
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER];
	size_t shown = 0;

	title(p, "The stacks that hold most, innermost frame first");
	for (; shown < r->stack_count && shown < STACKS_SHOWN; shown++) {
		const struct report_stack *s = &r->stacks[shown];

		if (!live_bytes(&s->sum))
			break;
		fprintf(p->out, "%10s  in %s %s, owner ",
			bytes_of(live, live_bytes(&s->sum), s->estimate),
			count_of(blocks, live_blocks(&s->sum), s->estimate),
			word_blocks(live_blocks(&s->sum)));
		put_clean(p, owners_of_node(r->owners, s->leaf)->name);
		fputc('\n', p->out);
		stack(p, s, frames);
	}
	if (!shown)
		fputs("         0  nothing is live\n", p->out);
	struct more more = { 0 };
	size_t left = 0;
	for (size_t i = shown; i < r->stack_count; i++) {
		more.bytes += live_bytes(&r->stacks[i].sum);
		more.estimate |= r->stacks[i].estimate && live_bytes(&r->stacks[i].sum);
		left += live_blocks(&r->stacks[i].sum) != 0;
	}
	if (left)
		fprintf(p->out, "%10s  in %s more stacks\n",
			bytes_of(live, more.bytes, more.estimate), format_count(blocks, left));
}

static void cuts(const struct page *p)
{
	const struct report *r = p->report;
	char blocks[FORMAT_NUMBER], stacks[FORMAT_NUMBER];
	uint64_t more = 0;

	if (!r->cut_count)
		return;
	title(p, "Stacks that end early, by reason and the module of their last known frame");
	fprintf(p->out, "%10s  %9s   %s\n", "BLOCKS", "STACKS", "MODULE: REASON");
	for (size_t i = 0; i < r->cut_count; i++) {
		const struct cut *c = &r->cuts[i];

		if (i >= p->top) {
			more += c->blocks;
			continue;
		}
		fprintf(p->out, "%10s  %9s   ", format_count(blocks, c->blocks),
			format_count(stacks, c->stacks));
		const char *name = quality_module_name(r->model, c->module);
		put_clean(p, name ? name : "[no frame]");
		fprintf(p->out, ": %s\n", report_truncation(c->reason));
	}
	if (r->cut_count > p->top)
		fprintf(p->out, "%10s  %9s   %s more\n", format_count(blocks, more), "...",
			format_count(stacks, r->cut_count - p->top));
}

static void marks(const struct page *p)
{
	const struct model *m = p->report->model;
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER];
	bool titled = false;

	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (!k || !k->known || (k->flags & MTW_MARK_DROPPED))
			continue;
		bool about = model_mark_estimate(m, id);
		if (!titled) {
			title(p, "Marks");
			fprintf(p->out, "%10s  %9s %11s   %s\n", "LIVE", "BLOCKS", "TIME", "MARK");
			titled = true;
		}
		fprintf(p->out, "%10s  %9s %9.1f s   m%u ",
			bytes_of(live, live_bytes(&k->totals), about),
			count_of(blocks, live_blocks(&k->totals), about), (double)k->time_ns / 1e9,
			id);
		put_clean(p, k->name);
		fputs("  by ", p->out);
		put_clean(p, k->set_by);
		fputc('\n', p->out);
	}
}

static void threads(const struct page *p)
{
	const struct model *m = p->report->model;
	char live[FORMAT_NUMBER];
	uint32_t limit = model_thread_count(m), shown = 0, known = 0;
	bool about = model_estimate(m); /* which threads were sampled is unknown */

	for (uint32_t i = 0; i < limit; i++)
		known += model_thread(m, i) && model_thread(m, i)->known;
	if (known < 2)
		return;
	title(p, "Threads, in the order they came");
	if (p->missing)
		fprintf(p->out, "%s\n", p->missing);
	row_head(p, "THREAD");
	for (uint32_t i = 0; i < limit && shown < p->top; i++) {
		const struct thread *t = model_thread(m, i);
		char blocks[FORMAT_NUMBER], alloc[FORMAT_NUMBER];

		if (!t || !t->known)
			continue;
		shown++;
		fprintf(p->out, "%10s  %9s %11s   ",
			p->missing ? "" : bytes_of(live, t->live_bytes, about),
			p->missing ? "" : count_of(blocks, t->live_blocks, about),
			bytes_of(alloc, t->done.alloc_bytes, about));
		put_clean(p, t->name);
		fprintf(p->out, " [%u]%s\n", t->tid, t->ended ? "  ended" : "");
	}
	if (known > shown)
		fprintf(p->out, "%10s  %9s %11s   %u more threads\n", "", "", "...", known - shown);
}

static void changes(const struct page *p, const struct report_options *o,
		    const struct report_stack *list, size_t n, struct frame_out *frames)
{
	const struct mark *from = model_mark(p->report->model, o->from);
	const struct mark *to = model_mark(p->report->model, o->to);
	char net[FORMAT_NUMBER], born[FORMAT_NUMBER], gone[FORMAT_NUMBER];
	struct change sum = { 0 };
	bool about = false;

	for (size_t i = 0; i < n; i++) {
		about |= list[i].estimate;
		sum.born_bytes += list[i].change.born_bytes;
		sum.gone_bytes += list[i].change.gone_bytes;
	}
	fputs("\nChanges from ", p->out);
	put_clean(p, o->from && from ? from->name : "start");
	fputs(" to ", p->out);
	put_clean(p, o->to && to ? to->name : "now");
	fputc('\n', p->out);
	fprintf(p->out, "%10s  %9s %11s\n", "NET", "BORN", "GONE");
	fprintf(p->out, "%10s  %9s %11s   all %zu stacks that changed\n",
		signed_of(net, (int64_t)(sum.born_bytes - sum.gone_bytes), about),
		bytes_of(born, sum.born_bytes, about), bytes_of(gone, sum.gone_bytes, about), n);
	for (size_t i = 0; i < n && i < p->top; i++) {
		const struct change *c = &list[i].change;

		fprintf(p->out, "%10s  %9s %11s   owner ",
			signed_of(net, (int64_t)(c->born_bytes - c->gone_bytes), list[i].estimate),
			bytes_of(born, c->born_bytes, list[i].estimate),
			bytes_of(gone, c->gone_bytes, list[i].estimate));
		put_clean(p, owners_of_node(p->report->owners, list[i].leaf)->name);
		fputc('\n', p->out);
		stack(p, &list[i], frames);
	}
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

static int write_report(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
			struct err *err)
{
	struct page p = { out, report_new(w), q, o, o->top ? o->top : TOP_DEFAULT, NULL };
	struct frame_out *frames = NULL;
	struct report_stack *changed = NULL;
	size_t changed_count = 0;
	int rc = 0;

	if (o->changes && !(changed = report_changes(p.report, o, &changed_count, err))) {
		rc = -1;
		goto out;
	}
	frames = xcalloc(FRAMES_MAX, sizeof *frames);
	if (o->processes && processes_count(o->processes) > 1)
		report_tree_text(o->processes, o->process, out);
	head(&p);
	verdict(&p);
	totals(&p);
	warnings(&p);
	libraries(&p);
	sites(&p);
	if (o->changes) {
		qsort(changed, changed_count, sizeof *changed, compare_net);
		changes(&p, o, changed, changed_count, frames);
	}
	stacks(&p, frames);
	cuts(&p);
	marks(&p);
	p.missing = watch_missing(w, MTW_KIND_THREADS);
	threads(&p);
	report_text_resident(w, p.report->model, out);
	report_text_ages(w, p.report->model, out);
	rc = report_flush(out, err);
out:
	free(frames);
	free(changed);
	report_free(p.report);
	return rc;
}

const struct report_format report_text = { "text", ".txt", write_report };
