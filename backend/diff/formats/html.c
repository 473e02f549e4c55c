/* SPDX-License-Identifier: MIT
 *
 * html.c - a diff as a page: the same one as a report's (report/html/page.h), with the call tree of
 * both sides, and each row's change and judgement. A's amounts are an instant before B's.
 *
 * The amounts of a side with several sessions are means; they need not be whole.
 */
#include "diff/formats/formats.h"

#include "base/format.h"
#include "diff/tree.h"
#include "report/html/calls.h"
#include "report/html/page.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

struct page {
	const struct diff *d;
	struct diff_tree tree;
	FILE *out;
	struct pack *data;
	bool about;
	enum diff_value bytes; /* what the page calls so */
};

static void put(const struct page *p, const char *s)
{
	fputs(s, p->out);
}

static void put_session(const struct page *p, size_t i)
{
	const struct side *s = p->d->sides[i];
	bool b = i >= p->d->sides_a;

	fprintf(p->out, "<p><b>%c</b> ", b ? 'B' : 'A');
	html_text(p->out, s->label);
	put(p, " <small>");
	html_text(p->out, s->program);
	fprintf(p->out, " [%u] after %.1f s", s->pid, (double)s->time_ns / 1e9);
	if (s->state) {
		put(p, ", ");
		html_text(p->out, s->state);
	}
	put(p, "</small></p>\n");
}

static void put_verdict(const struct page *p)
{
	char text[DIFF_SENTENCE];

	diff_sentence(p->d, text);
	fprintf(p->out, "<p class=\"verdict\" id=\"verdict\" data-word=\"%s\">", diff_word(p->d));
	html_text(p->out, text);
	put(p, "</p>\n");
}

static const char *amount(const struct page *p, char buf[FORMAT_NUMBER + 1], double n,
			  enum diff_value v)
{
	char plain[FORMAT_NUMBER];
	uint64_t whole = diff_round(fabs(n));

	snprintf(buf, FORMAT_NUMBER + 1, "%s%s", whole && p->about ? "~" : "",
		 v == DIFF_BLOCKS ? format_count(plain, whole) : format_bytes(plain, whole));
	return buf;
}

static void put_figure(const struct page *p, const char *name, enum diff_value v)
{
	const struct tally *sums = p->d->totals.sums;
	double by = diff_change(p->d, sums, v);
	char a[FORMAT_NUMBER + 1], b[FORMAT_NUMBER + 1], c[FORMAT_NUMBER + 1];

	fprintf(p->out, "<div><dt>%s</dt><dd>%s%s</dd><dd class=\"more\">A %s, B %s</dd></div>\n",
		name,
		diff_round(fabs(by)) == 0 ? ""
		: by < 0                  ? "-"
					  : "+",
		amount(p, c, by, v), amount(p, a, diff_mean(p->d, sums, false, v), v),
		amount(p, b, diff_mean(p->d, sums, true, v), v));
}

static size_t count_warnings(const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sides_count; i++)
		n += d->sides[i]->warning_count;
	return n;
}

static void put_warnings(const struct page *p)
{
	size_t n = count_warnings(p->d);

	if (!n)
		return;
	fprintf(p->out, "<details class=\"warnings\"%s><summary>%zu warning%s</summary><ul>\n",
		n < 4 ? " open" : "", n, format_s(n));
	for (size_t i = 0; i < p->d->sides_count; i++) {
		const struct side *s = p->d->sides[i];
		for (size_t k = 0; k < s->warning_count; k++) {
			put(p, "<li>");
			html_text(p->out, s->label);
			put(p, ": ");
			html_text(p->out, s->warnings[k]);
			put(p, "</li>\n");
		}
	}
	put(p, "</ul></details>\n");
}

static void put_answer(const struct page *p)
{
	put(p, "<header>\n<h1>");
	html_text(p->out, p->d->sides[p->d->sides_a]->program);
	put(p, " <small>the change from A to B</small></h1>\n");
	for (size_t i = 0; i < p->d->sides_count; i++)
		put_session(p, i);
	put(p, "</header>\n");
	put_verdict(p);
	put(p, "<dl class=\"totals\">\n");
	put_figure(p, "Live", DIFF_LIVE);
	put_figure(p, "Blocks", DIFF_BLOCKS);
	put_figure(p, "Allocated", DIFF_ALLOCATED);
	put(p, "</dl>\n");
	put_warnings(p);
}

static void list_begin(const struct page *p, const char *key)
{
	pack_key(p->data, key);
	pack_open(p->data, '[');
}

static void list_end(const struct page *p)
{
	pack_close(p->data, ']');
}

static double mean_blocks(const struct page *p, const struct tally *sums, bool b)
{
	return diff_mean(p->d, sums, b, diff_blocks_of(p->d->value));
}

static double mean_bytes(const struct page *p, const struct tally *sums, bool b)
{
	return diff_mean(p->d, sums, b, p->bytes);
}

static void put_sessions(const struct page *p, const char *key, size_t from, size_t to)
{
	list_begin(p, key);
	for (size_t i = from; i < to; i++)
		pack_text(p->data, p->d->sides[i]->label);
	list_end(p);
}

/* Of each node of the call tree, in depth-first order. */
static void put_judgements(const struct page *p)
{
	uint32_t nodes = p->tree.calls.nodes;
	struct diff_row *rows = xcalloc(nodes, sizeof *rows);
	struct tally sums[DIFF_SESSIONS_MAX];

	for (uint32_t n = 0; n < nodes; n++) {
		diff_tree_sums(&p->tree, n, sums);
		rows[n].sums = sums;
		diff_judge(p->d, &rows[n]);
	}
	list_begin(p, "kind");
	for (uint32_t n = 0; n < nodes; n++)
		pack_size(p->data, rows[n].kind);
	list_end(p);
	list_begin(p, "noise");
	for (uint32_t n = 0; n < nodes; n++)
		pack_flag(p->data, rows[n].noise);
	list_end(p);
	free(rows);
}

static void put_calls(const struct page *p)
{
	const struct diff_tree *t = &p->tree;
	struct call_frame *frames = xcalloc(t->frame_count + 1, sizeof *frames);

	_Static_assert(DIFF_LINES == CALLS_SEVERAL, "the page's word for several lines");
	for (size_t i = 0; i < t->frame_count; i++)
		frames[i] = (struct call_frame){ t->frames[i].name, t->frames[i].function,
						 t->frames[i].file, t->frames[i].module };
	html_calls_put(
		&(struct html_calls){
			.count = t->calls.nodes,
			.parent = t->calls.skeleton->parent,
			.frame = t->calls.skeleton->location,
			.line = t->line,
			.frames = frames,
			.frame_count = t->frame_count,
		},
		p->data);
	free(frames);
}

static void put_amounts(const struct page *p, const struct diff_row *r)
{
	for (int b = 0; b <= 1; b++) {
		pack_real(p->data, mean_bytes(p, r->sums, b));
		pack_real(p->data, mean_blocks(p, r->sums, b));
	}
	pack_text(p->data, diff_kind_name(r->kind));
	pack_flag(p->data, r->noise);
}

static void put_owners(const struct page *p)
{
	list_begin(p, "owners");
	for (size_t i = 0; i < p->d->owners.count; i++) {
		const struct diff_row *r = &p->d->owners.list[i];

		pack_open(p->data, '[');
		pack_text(p->data, r->owner);
		put_amounts(p, r);
		list_end(p);
	}
	list_end(p);
}

static void put_sites(const struct page *p)
{
	list_begin(p, "sites");
	for (size_t i = 0; i < p->d->sites.count; i++) {
		const struct diff_row *r = &p->d->sites.list[i];

		pack_open(p->data, '[');
		pack_text(p->data, r->name);
		put_amounts(p, r);
		pack_text(p->data, r->caller);
		pack_text(p->data, r->file);
		pack_size(p->data, r->line);
		pack_text(p->data, r->owner);
		pack_size(p->data, r->stacks);
		list_end(p);
	}
	list_end(p);
}

static void put_diff(const struct page *p)
{
	const struct diff *d = p->d;
	char rule[DIFF_RULE];

	pack_key(p->data, "diff");
	pack_open(p->data, '{');
	pack_key(p->data, "value");
	pack_text(p->data, diff_value_name(d->value));
	pack_key(p->data, "noise_rule");
	pack_text(p->data, d->judged ? diff_noise_rule(d, rule) : NULL);
	pack_key(p->data, "about");
	pack_flag(p->data, p->about);
	put_sessions(p, "a", 0, d->sides_a);
	put_sessions(p, "b", d->sides_a, d->sides_count);
	put_judgements(p);
	pack_close(p->data, '}');
}

/* One entry for each joined stack. */
static void put_column(const struct page *p, const char *name, bool b,
		       double (*of)(const struct page *, const struct tally *, bool))
{
	list_begin(p, name);
	for (size_t i = 0; i < p->d->join->list_count; i++)
		pack_real(p->data, of(p, join_sums(p->d->join, i), b));
	list_end(p);
}

static void put_entries(const struct page *p)
{
	pack_key(p->data, "entries");
	pack_open(p->data, '{');
	list_begin(p, "node");
	for (size_t i = 0; i < p->d->join->list_count; i++)
		pack_size(p->data, p->tree.leaves[i]);
	list_end(p);
	put_column(p, "a_bytes", false, mean_bytes);
	put_column(p, "a_blocks", false, mean_blocks);
	put_column(p, "b_bytes", true, mean_bytes);
	put_column(p, "b_blocks", true, mean_blocks);
	pack_close(p->data, '}');
}

int diff_write_html(const struct diff *d, FILE *out, struct err *err)
{
	struct page p = { .d = d, .out = out };
	char *title =
		xasprintf("%s to %s: the change", d->sides[0]->label, d->sides[d->sides_a]->label);

	p.bytes = d->value == DIFF_ALLOCATED ? DIFF_ALLOCATED : DIFF_LIVE;
	for (size_t i = 0; i < d->sides_count; i++)
		p.about |= d->sides[i]->estimate;
	diff_tree_make(&p.tree, d, false);
	html_page_begin(out, title);
	put_answer(&p);
	p.data = html_page_data(out);
	pack_open(p.data, '{');
	put_diff(&p);
	put_calls(&p);
	put_entries(&p);
	put_owners(&p);
	put_sites(&p);
	pack_close(p.data, '}');
	html_page_end(out, p.data);
	diff_tree_release(&p.tree);
	free(title);
	return report_flush(out, err);
}
