/* SPDX-License-Identifier: MIT
 *
 * answers.c - what the tools of `memtop mcp` answer: short tables, the most important row first.
 *
 * Each call makes its own query, so that no call finds another one's filter, base or open rows. All
 * names are resolved before the first row is written.
 */
#include "mcp/tools.h"

#include "base/format.h"
#include "base/listing.h"
#include "base/loop.h"
#include "base/sanitize.h"
#include "report/between.h"
#include "report/formats/formats.h"
#include "report/report.h"
#include "report/text/text.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS 3000
#define CONFIRM_MS 10000
#define LIMIT_DEFAULT 20u
#define LIMIT_MOST 1000u

void tool_view_open(struct tool_view *v, struct watch *w)
{
	v->model = watch_model(w);
	for (uint32_t i = 0, n = model_location_count(v->model); i < n; i++)
		symbols_of_location(watch_symbols(w), i);
	symbols_wait(watch_symbols(w));
	v->owners = owners_new(v->model, watch_symbols(w));
	v->query = query_new(v->model, watch_symbols(w), v->owners);
	query_expect(v->query, watch_expected(w));
}

void tool_view_close(struct tool_view *v)
{
	query_free(v->query);
	owners_free(v->owners);
}

void tool_put(FILE *out, const char *text)
{
	sanitize_put(out, text, strlen(text));
}

static void put_bytes(struct listing *t, uint64_t bytes)
{
	char n[FORMAT_NUMBER];

	listing_put(t, format_bytes(n, bytes));
}

/* What an answer's rows begin with. */
static void put_amounts(struct listing *t, const struct tally *sum)
{
	listing_row(t);
	put_bytes(t, live_bytes(sum));
	fprintf(listing_cell(t), "%llu", (unsigned long long)live_blocks(sum));
	put_bytes(t, sum->alloc_bytes);
}

#define FIGURE(title)                                                                              \
	{                                                                                          \
		title, LISTING_RIGHT, 10, 0                                                        \
	}
#define NEXT_FIGURE(title)                                                                         \
	{                                                                                          \
		title, LISTING_RIGHT, 10, 1                                                        \
	}
#define NAMES(title)                                                                               \
	{                                                                                          \
		title, LISTING_LEFT, 0, 1                                                          \
	}

static void put_place(FILE *out, const char *file, uint32_t line, const struct owner *owner)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	if (file) {
		fputs("  ", out);
		tool_put(out, slash ? slash + 1 : file);
		fprintf(out, ":%u", line);
	}
	if (owner) {
		fputs("  ", out);
		tool_put(out, owner->name);
	}
}

static void put_rest(FILE *out, size_t shown, size_t all)
{
	if (all > shown)
		fprintf(out, "... %zu more row%s; ask with a larger limit (at most %u)\n",
			all - shown, format_s(all - shown), LIMIT_MOST);
}

static int limit_of(const struct tool_call *c, size_t *limit, struct err *err)
{
	*limit = LIMIT_DEFAULT;
	return tool_number(c, "limit", 1, LIMIT_MOST, limit, err);
}

static void put_line(FILE *out, const char *label, uint64_t bytes, uint64_t blocks)
{
	char a[FORMAT_NUMBER], b[FORMAT_NUMBER];

	fprintf(out, "%s %s (%llu byte%s) in %s block%s\n", label, format_bytes(a, bytes),
		(unsigned long long)bytes, format_s(bytes), format_count(b, blocks),
		format_s(blocks));
}

static void put_program(FILE *out, struct watch *w)
{
	const struct model *m = watch_model(w);
	const struct program *g = model_program(m);
	bool known;
	int status;
	uint32_t state = model_state(m, &status, &known);
	unsigned inner, here = watch_pid(w, &inner);
	char stopped[REPORT_END], pid[REPORT_PID];

	tool_put(out, *g->name ? g->name : "?");
	fprintf(out, " [%s] %s after %.1f s\n", report_pid(here, inner, pid),
		model_stopped(m) ? report_end(m, stopped) : report_state(state, known),
		(double)model_time(m) / 1e9);
}

int tool_verdict(struct tool_call *c, struct err *err)
{
	struct tool_view v;
	struct verdict verdict;
	uint64_t rss = 0;
	char n[FORMAT_NUMBER];

	(void)err;
	tool_view_open(&v, c->watch);
	const struct totals *t = model_totals(v.model);
	put_program(c->out, c->watch);
	query_verdict(v.query, &verdict);
	tool_put(c->out, verdict.text);
	fputc('\n', c->out);
	put_line(c->out, "live", live_bytes(&t->sum), live_blocks(&t->sum));
	put_line(c->out, "allocated", t->sum.alloc_bytes, t->sum.alloc_blocks);
	fprintf(c->out, "peak %s at %.1f s\n", format_bytes(n, t->peak_bytes),
		(double)t->peak_time_ns / 1e9);
	if (model_process(v.model, &rss, NULL, NULL, NULL) && rss)
		fprintf(c->out, "resident %s\n", format_bytes(n, rss));
	if (model_estimate(v.model))
		fputs("amounts are estimates: the agent samples\n", c->out);
	if (watch_problem(c->watch)) {
		tool_put(c->out, watch_problem(c->watch));
		fputc('\n', c->out);
	}
	tool_view_close(&v);
	return 0;
}

int tool_owners(struct tool_call *c, struct err *err)
{
	static const struct listing_column columns[] = { FIGURE("LIVE"), NEXT_FIGURE("BLOCKS"),
							 NEXT_FIGURE("ALLOCATED"),
							 NAMES("LIBRARY") };
	const struct owner *list = NULL;
	struct tool_view v;
	size_t limit;

	if (limit_of(c, &limit, err))
		return -1;
	tool_view_open(&v, c->watch);
	size_t n = owners_update(v.owners, &list);
	struct listing *t = listing_new(columns, 4, 0);
	for (size_t i = 0; i < n && i < limit; i++) {
		put_amounts(t, &list[i].amounts.sum);
		listing_name(t, list[i].name, NULL, NULL, 0);
	}
	listing_end(t, c->out);
	put_rest(c->out, limit, n);
	tool_view_close(&v);
	return 0;
}

static void put_site(struct listing *t, const struct site *s)
{
	FILE *out = listing_name(t, s->name ? s->name : "?", s->function, s->caller, 0);

	if (s->flags & ROW_EXPECTED)
		fputs(" (expected)", out);
	put_place(out, s->file, s->line, s->owner);
}

static int sort_of(const struct tool_call *c, enum query_column *by, struct err *err)
{
	static const struct {
		const char *word;
		enum query_column by;
	} columns[] = { { "live", BY_LIVE },
			{ "blocks", BY_BLOCKS },
			{ "growth", BY_GROWTH },
			{ "rate", BY_RATE },
			{ "allocated", BY_ALLOC } };
	const char *word = "live";

	if (tool_text(c, "sort", &word, err))
		return -1;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (!strcmp(word, columns[i].word)) {
			*by = columns[i].by;
			return 0;
		}
	return err_set(err, 2, "sort: one of live, blocks, growth, rate, allocated");
}

int tool_sites(struct tool_call *c, struct err *err)
{
	static const struct listing_column columns[] = {
		FIGURE("LIVE"),
		NEXT_FIGURE("BLOCKS"),
		NEXT_FIGURE("ALLOCATED"),
		NEXT_FIGURE("GROWTH/min"),
		{ "SHAPE", LISTING_LEFT, 9, 1 },
		NAMES("CALL SITE < CALLER  LINE  LIBRARY"),
	};
	enum query_column by = BY_LIVE;
	const struct site *list = NULL;
	char growth[FORMAT_NUMBER];
	struct tool_view v;
	size_t limit;

	if (limit_of(c, &limit, err) || sort_of(c, &by, err))
		return -1;
	tool_view_open(&v, c->watch);
	size_t n = query_sites(v.query, by, false, true, &list);
	struct listing *t = listing_new(columns, sizeof columns / sizeof *columns, 0);
	for (size_t i = 0; i < n && i < limit; i++) {
		put_amounts(t, &list[i].amounts.sum);
		listing_put(t,
			    list[i].intervals ? format_signed(growth, list[i].net_per_min) : "-");
		listing_put(t, report_shape(list[i].shape));
		put_site(t, &list[i]);
	}
	listing_end(t, c->out);
	put_rest(c->out, limit, n);
	tool_view_close(&v);
	return 0;
}

/* Is it the site that was asked for? */
static bool is_named(const struct site *s, const char *name)
{
	return (s->name && !strcmp(s->name, name)) || (s->function && !strcmp(s->function, name));
}

static bool is_of(struct query *q, uint32_t leaf, const struct site *list, size_t n,
		  const char *name)
{
	uint32_t id = query_site_of(q, leaf);
	size_t i = 0;

	while (i < n && list[i].id != id)
		i++;
	return i < n && is_named(&list[i], name);
}

static size_t put_stacks(struct tool_view *v, struct report *r, const char *name, size_t limit,
			 FILE *out)
{
	const struct report_options full = { .full = true };
	const struct page p = { .out = out, .report = r, .query = v->query, .options = &full };
	const struct site *list = NULL;
	size_t n = query_sites(v->query, BY_LIVE, false, true, &list), found = 0;

	for (size_t i = 0; i < r->stack_count; i++) {
		struct report_stack s = report_stack(r, r->order[i]);

		if (is_of(v->query, s.leaf, list, n, name) && found++ < limit)
			text_stack(&p, &s);
	}
	put_rest(out, limit, found);
	return found;
}

int tool_site_stacks(struct tool_call *c, struct err *err)
{
	const char *name = NULL;
	struct tool_view v;
	size_t limit;

	if (limit_of(c, &limit, err) || tool_text(c, "site", &name, err))
		return -1;
	if (!name)
		return err_set(err, 2, "site: missing; call_sites lists them");
	tool_view_open(&v, c->watch);
	struct report *r = report_new(c->watch);
	size_t found = put_stacks(&v, r, name, limit, c->out);
	report_free(r);
	tool_view_close(&v);
	return found ? 0
		     : err_set(err, 2, "site: %.200s: no such call site; call_sites lists them",
			       name);
}

struct branch {
	size_t depth, limit;
	uint64_t least; /* bytes */
};

static bool opens(const struct row *r, const struct branch *b)
{
	return !(r->flags & (ROW_OPEN | ROW_LEAF | ROW_REST)) && r->depth + 1 < b->depth &&
	       live_bytes(&r->amounts.sum) >= b->least && live_bytes(&r->amounts.sum);
}

/* Opens the heaviest closed row until none is left that may open, or the rows are enough. */
static void open_rows(struct query *q, const struct branch *b)
{
	for (;;) {
		const struct row *rows, *heaviest = NULL;
		size_t n = query_rows(q, true, &rows);

		for (size_t i = 0; i < n && n < b->limit; i++)
			if (opens(&rows[i], b) &&
			    (!heaviest ||
			     live_bytes(&rows[i].amounts.sum) > live_bytes(&heaviest->amounts.sum)))
				heaviest = &rows[i];
		if (!heaviest || query_open(q, heaviest->id, true))
			return;
	}
}

static void put_row(struct listing *t, const struct row *r, uint64_t whole)
{
	uint64_t live = live_bytes(&r->amounts.sum);

	listing_row(t);
	put_bytes(t, live);
	fprintf(listing_cell(t), "%.1f%%", whole ? (double)live * 100 / (double)whole : 0.0);
	FILE *out = listing_cell(t);
	fprintf(out, "%*s", (int)(r->depth < 64 ? r->depth : 64), "");
	tool_put(out, r->name ? r->name : "?");
	put_place(out, r->file, r->line, r->owner);
}

int tool_tree(struct tool_call *c, struct err *err)
{
	static const struct listing_column columns[] = { FIGURE("LIVE"),
							 { "", LISTING_RIGHT, 6, 1 },
							 NAMES("FUNCTION  LINE  LIBRARY") };
	struct branch b = { .depth = 12 };
	size_t percent = 2, shown = 0, left = 0;
	const struct row *rows;
	struct tool_view v;
	bool inverted;

	if (limit_of(c, &b.limit, err) || tool_number(c, "depth", 1, 64, &b.depth, err) ||
	    tool_number(c, "min_percent", 0, 100, &percent, err) ||
	    tool_flag(c, "inverted", &inverted, err))
		return -1;
	tool_view_open(&v, c->watch);
	uint64_t whole = live_bytes(&model_totals(v.model)->sum);
	b.least = whole / 100 * percent;
	query_set_inverted(v.query, inverted);
	query_set_sort(v.query, BY_LIVE, false);
	open_rows(v.query, &b);
	size_t n = query_rows(v.query, true, &rows);
	struct listing *t = listing_new(columns, 3, 0);
	for (size_t i = 0; i < n; i++) {
		if (live_bytes(&rows[i].amounts.sum) < b.least || rows[i].flags & ROW_REST)
			continue;
		if (shown < b.limit)
			put_row(t, &rows[i], whole);
		left += shown++ >= b.limit;
	}
	listing_end(t, c->out);
	put_rest(c->out, shown - left, shown);
	tool_view_close(&v);
	return 0;
}

/* The argument's mark, NULL = not given. "start" and "now" are 0. */
static int end_of(const struct tool_call *c, const char *name, unsigned end, uint32_t *id,
		  struct err *err)
{
	const char *word = NULL;

	*id = 0;
	if (tool_text(c, name, &word, err))
		return -1;
	return word ? between_end(c->watch, word, end, id, err) : 0;
}

static int64_t net(const struct site *s)
{
	return (int64_t)(s->amounts.change.born_bytes - s->amounts.change.gone_bytes);
}

static int by_change(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	int64_t m = llabs(net(x)), n = llabs(net(y));

	return m != n ? (m < n) - (m > n) : (x > y) - (x < y);
}

static void put_changes(FILE *out, const struct site *list, size_t n, size_t empty, size_t limit)
{
	static const struct listing_column columns[] = {
		FIGURE("NET"), NEXT_FIGURE("BORN"), NEXT_FIGURE("GONE"),
		NAMES("CALL SITE < CALLER  LINE  LIBRARY")
	};
	const struct site **changed = xcalloc(n + 1, sizeof *changed);
	char number[FORMAT_NUMBER];
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (list[i].amounts.change.born_blocks || list[i].amounts.change.gone_blocks)
			changed[count++] = &list[i];
	qsort(changed, count, sizeof *changed, by_change);
	struct listing *t = listing_new(columns, 4, 0);
	for (size_t i = 0; i < count && i < limit; i++) {
		listing_row(t);
		listing_put(t, format_signed(number, net(changed[i])));
		put_bytes(t, changed[i]->amounts.change.born_bytes);
		put_bytes(t, changed[i]->amounts.change.gone_bytes);
		put_site(t, changed[i]);
	}
	listing_end(t, out);
	put_rest(out, limit, count);
	if (!count)
		fputs("nothing changed\n", out);
	if (empty)
		fprintf(out, "%zu more without memory\n", empty);
	free(changed);
}

int tool_diff(struct tool_call *c, struct err *err)
{
	const struct site *list = NULL;
	uint32_t from, to;
	struct tool_view v;
	size_t limit;

	if (limit_of(c, &limit, err) || end_of(c, "from", 0, &from, err) ||
	    end_of(c, "to", 1, &to, err))
		return -1;
	if (model_set_interval(watch_model(c->watch), from, to))
		return err_set(err, 2,
			       "from, to: a mark kept only its totals, or comes after the other");
	tool_view_open(&v, c->watch);
	size_t n = query_sites(v.query, BY_NET, false, true, &list);
	put_changes(c->out, list, n, query_sites_empty(v.query), limit);
	tool_view_close(&v);
	model_set_interval(watch_model(c->watch), 0, 0);
	return 0;
}

static const struct mark *new_mark(const struct model *m, uint32_t from, const char *who)
{
	for (uint32_t id = from; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (k && k->known && !strcmp(k->set_by, who))
			return k;
	}
	return NULL;
}

int tool_mark(struct tool_call *c, struct err *err)
{
	const struct model *m = watch_model(c->watch);
	uint32_t before = model_mark_limit(m);
	uint64_t end = now_ns() + CONFIRM_MS * 1000000ull;
	const struct mark *k = NULL;
	const char *name = "";

	if (tool_text(c, "name", &name, err))
		return -1;
	if (strlen(name) > MTW_NAME_MAX)
		return err_set(err, 2, "name: at most %u bytes", MTW_NAME_MAX);
	if (watch_mark(c->watch, name))
		return err_set(err, 3, "the process does not run, or its link is down");
	for (uint64_t now; !(k = new_mark(m, before, targets_who(c->targets))) &&
			   watch_live(c->watch) && (now = now_ns()) < end;)
		loop_once(targets_loop(c->targets), (int)((end - now) / 1000000) + 1);
	if (!k)
		return err_set(err, 3, "the agent did not confirm the mark");
	fprintf(c->out, "m%u ", k->id);
	tool_put(c->out, k->name);
	fputc('\n', c->out);
	return 0;
}

int tool_report(struct tool_call *c, struct err *err)
{
	struct report_options o = { 0 };
	const char *format = "text", *between = NULL;
	struct between b;
	struct tool_view v;

	if (tool_text(c, "format", &format, err) || tool_text(c, "between", &between, err) ||
	    end_of(c, "since", 0, &o.from, err))
		return -1;
	if (between && (between_parse(between, &b, err) || between_go(c->watch, &b, err) ||
			between_find(watch_model(c->watch), &b, &o, err)))
		return -1;
	const struct report_format *f = formats_by_name(format);
	if (!f)
		return err_set(err, 2, "format: %.100s: no such format; write text or json",
			       format);
	o.changes = between || json_object_get(c->arguments, "since");
	watch_look(c->watch, LOOK_MS, false);
	tool_view_open(&v, c->watch);
	int rc = f->write(c->watch, v.query, &o, c->out, err);
	tool_view_close(&v);
	return rc;
}
