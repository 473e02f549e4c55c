/* SPDX-License-Identifier: MIT
 *
 * text.c - a diff for people, at most 80 columns wide: totals, owners, call sites, and the stacks
 * that changed most. What a table leaves out is summed in its last lines, so that columns add up.
 */
#include "diff/formats/formats.h"

#include "base/columns.h"
#include "base/format.h"
#include "base/listing.h"
#include "base/name.h"
#include "base/sanitize.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 12
#define STACKS_SHOWN 8
#define FRAMES_MAX 512
#define FRAMES_SHOWN 12
#define FRAME_COLUMN 28 /* where a frame begins */
#define KIND_COLUMNS 8  /* of "  shrunk" */

struct page {
	const struct diff *d;
	FILE *out;  /* in memory: long lines are wrapped at the end */
	bool about; /* some session's amounts are estimates */
};

static void put_foreign(FILE *out, const char *text)
{
	sanitize_put(out, text, strlen(text));
}

/* Foreign text in so many columns. */
static void put_name(FILE *out, const char *text, size_t columns)
{
	char *name = name_fit(text, columns, "...");

	fputs(name, out);
	free(name);
}

#define NUMBER (FORMAT_NUMBER + 2)

static bool in_bytes(enum diff_value v)
{
	return v == DIFF_LIVE || v == DIFF_ALLOCATED;
}

static const char *amount(const struct page *p, char buf[NUMBER], double n, enum diff_value v)
{
	char plain[FORMAT_NUMBER];
	uint64_t whole = diff_round(n);

	snprintf(buf, NUMBER, "%s%s", whole && p->about ? "~" : "",
		 in_bytes(v) ? format_bytes(plain, whole) : format_count(plain, whole));
	return buf;
}

static const char *change(const struct page *p, char buf[NUMBER], double n, enum diff_value v)
{
	char plain[NUMBER];
	bool zero = diff_round(fabs(n)) == 0;

	amount(p, plain, fabs(n), v);
	snprintf(buf, NUMBER, "%s%.31s", zero ? "" : n < 0 ? "-" : "+", plain);
	return buf;
}

static void put_session(struct page *p, size_t i)
{
	const struct side *s = p->d->sides[i];
	bool b = i >= p->d->sides_a, several = p->d->sides_count > 2;
	char name[16], tail[160];

	if (several)
		snprintf(name, sizeof name, "%c%zu  ", b ? 'B' : 'A',
			 b ? i - p->d->sides_a + 1 : i + 1);
	else
		snprintf(name, sizeof name, "%c  ", b ? 'B' : 'A');
	snprintf(tail, sizeof tail, "  [%u] after %.1f s%s%s", s->pid, (double)s->time_ns / 1e9,
		 s->state ? ", " : "", s->state ? s->state : "");
	size_t room = COLUMNS_OF_TEXT - strlen(name) - strlen(tail) - 2, program = room / 3;
	fputs(name, p->out);
	put_name(p->out, s->label, room - program);
	fputs("  ", p->out);
	put_name(p->out, s->program, program);
	fprintf(p->out, "%s\n", tail);
}

static void put_total(const struct page *p, const char *word, enum diff_value v, struct listing *t)
{
	const struct tally *sums = p->d->totals.sums;
	char n[NUMBER];
	double before = diff_mean(p->d, sums, false, v), more = diff_change(p->d, sums, v);

	listing_row(t);
	listing_put(t, word);
	listing_put(t, amount(p, n, before, v));
	listing_put(t, amount(p, n, diff_mean(p->d, sums, true, v), v));
	listing_put(t, change(p, n, more, v));
	FILE *out = listing_cell(t);
	if (before > 0 && diff_round(fabs(more)))
		fprintf(out, fabs(more) < before ? "  %+.1f %%" : "  %+.0f %%",
			more * 100 / before);
	if (v == p->d->value && p->d->judged && more != 0)
		fputs(p->d->totals.noise ? "  (noise)" : "  (a change)", out);
}

static void put_totals(const struct page *p)
{
	const struct listing_column columns[] = {
		{ "", LISTING_LEFT, 10, 0 },
		{ p->d->sides_a > 1 ? "A (mean)" : "A", LISTING_RIGHT, 12, 1 },
		{ p->d->sides_count - p->d->sides_a > 1 ? "B (mean)" : "B", LISTING_RIGHT, 12, 1 },
		{ "CHANGE", LISTING_RIGHT, 12, 1 },
		{ "", LISTING_LEFT, 0, 0 },
	};
	struct listing *t = listing_new(columns, sizeof columns / sizeof *columns, 0);

	put_total(p, "live", DIFF_LIVE, t);
	put_total(p, "blocks", DIFF_BLOCKS, t);
	put_total(p, "allocated", DIFF_ALLOCATED, t);
	listing_end(t, p->out);
}

static void put_noise(const struct page *p)
{
	const struct diff *d = p->d;
	char rule[DIFF_RULE];

	diff_noise_rule(d, rule);
	if (d->by_runs)
		fprintf(p->out, "Noise is judged from %zu and %zu sessions; %s.\n", d->sides_a,
			d->sides_count - d->sides_a, rule);
	else
		fprintf(p->out,
			"Noise is not judged: that takes two sessions a side, better three "
			"(memtop diff A1 A2 A3 -- B1 B2 B3).%s%s%s\n",
			*rule ? " At peaks, " : "", rule, *rule ? "." : "");
}

static void put_joined(const struct page *p)
{
	size_t by[JOIN_COMMON + 1] = { 0 };
	char n[5][FORMAT_NUMBER];

	for (size_t i = 0; i < p->d->join->list_count; i++)
		by[p->d->join->list[i].by]++;
	if (by[JOIN_RUN])
		fprintf(p->out, "Stacks: %s in both, of one run; %s in one alone.\n",
			format_count(n[0], by[JOIN_RUN]), format_count(n[1], by[JOIN_NOT]));
	else
		fprintf(p->out,
			"Stacks: %s in both (%s by build-id and offset, %s by function names, %s "
			"with some frames less); %s in one alone.\n",
			format_count(n[0], by[JOIN_OFFSETS] + by[JOIN_NAMES] + by[JOIN_OUTLINE] +
						   by[JOIN_COMMON]),
			format_count(n[1], by[JOIN_OFFSETS]), format_count(n[2], by[JOIN_NAMES]),
			format_count(n[3], by[JOIN_OUTLINE] + by[JOIN_COMMON]),
			format_count(n[4], by[JOIN_NOT]));
}

static void put_head(struct page *p)
{
	for (size_t i = 0; i < p->d->sides_count; i++)
		put_session(p, i);
	fputc('\n', p->out);
	put_totals(p);
	fputc('\n', p->out);
	put_joined(p);
	put_noise(p);
}

static void put_numbers(const struct page *p, double a, double b, struct listing *t)
{
	enum diff_value v = p->d->value;
	char n[NUMBER];

	listing_row(t);
	listing_put(t, change(p, n, b - a, v));
	listing_put(t, amount(p, n, a, v));
	listing_put(t, amount(p, n, b, v));
}

static void put_rest(const struct page *p, const struct diff_rest *rest, const char *what,
		     struct listing *t)
{
	char n[FORMAT_NUMBER];

	if (!rest->count)
		return;
	put_numbers(p, rest->a, rest->b, t);
	fprintf(listing_cell(t), "%s %s", format_count(n, rest->count), what);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_owner(const struct page *p, const struct diff_row *r, struct listing *t)
{
	(void)p;
	fprintf(listing_name(t, r->owner, NULL, NULL, KIND_COLUMNS), "  %s",
		diff_kind_name(r->kind));
}

static void put_site(const struct page *p, const struct diff_row *r, struct listing *t)
{
	(void)p;
	fprintf(listing_name(t, r->name ? r->name : "?", NULL, r->caller, KIND_COLUMNS), "  %s",
		diff_kind_name(r->kind));
}

static bool is_changed(const struct diff_row *r)
{
	return r->kind != DIFF_SAME && !r->noise;
}

/* False: no session has memory there; all of it was freed. */
static bool holds(const struct diff *d, const struct diff_row *r)
{
	return diff_mean(d, r->sums, false, d->value) > 0 ||
	       diff_mean(d, r->sums, true, d->value) > 0;
}

struct part {
	const char *title, *column;
	const struct diff_rows *rows;
	void (*row)(const struct page *p, const struct diff_row *r, struct listing *t);
	size_t shown_max;
};

static void put_part(const struct page *p, const struct part *part)
{
	static const char *const of[] = { "live bytes", "live blocks", "bytes allocated" };
	const struct listing_column columns[] = {
		{ "CHANGE", LISTING_RIGHT, 10, 0 },
		{ "A", LISTING_RIGHT, 10, 1 },
		{ "B", LISTING_RIGHT, 10, 1 },
		{ part->column, LISTING_LEFT, 0, 4 },
	};
	struct listing *t = listing_new(columns, 4, COLUMNS_OF_TEXT);
	struct diff_rest more = { 0 }, noise = { 0 }, same = { 0 }, none = { 0 };
	size_t shown = 0;

	fprintf(p->out, "\n%s, by change of %s\n", part->title, of[p->d->value]);
	for (size_t i = 0; i < part->rows->count; i++) {
		const struct diff_row *r = &part->rows->list[i];
		if (!is_changed(r)) {
			diff_rest_add(p->d,
				      r->kind != DIFF_SAME ? &noise
				      : holds(p->d, r)     ? &same
							   : &none,
				      r);
		} else if (shown == part->shown_max) {
			diff_rest_add(p->d, &more, r);
		} else {
			put_numbers(p, diff_mean(p->d, r->sums, false, p->d->value),
				    diff_mean(p->d, r->sums, true, p->d->value), t);
			part->row(p, r, t);
			shown++;
		}
	}
	put_rest(p, &more, "more", t);
	put_rest(p, &noise, "within the noise", t);
	put_rest(p, &same, "unchanged", t);
	put_rest(p, &none, "more without memory", t);
	listing_end(t, p->out);
}

static void put_frame(const struct join_frame *f, struct listing *t)
{
	char place[300] = "", number[32];

	if (f->file)
		snprintf(place, sizeof place, "  %.200s:%u", last_part(f->file), f->line);
	else if (f->function && f->module)
		snprintf(place, sizeof place, "  %.200s", f->module);
	if (!f->name && !f->module)
		snprintf(number, sizeof number, "0x%llx", (unsigned long long)f->offset);
	size_t room = COLUMNS_OF_TEXT - FRAME_COLUMN, tail = columns_of(place);
	tail = tail > room / 2 ? room / 2 : tail;
	listing_row(t);
	put_name(listing_name(t,
			      f->name     ? f->name
			      : f->module ? f->module
					  : number,
			      NULL, NULL, tail),
		 place, tail);
}

/* Nothing outside of main() tells anything. */
static size_t up_to_main(const struct join_frame *frames, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (frames[i].plain && !strcmp(frames[i].plain, "main"))
			return i + 1;
	return n;
}

/* From the call site outwards, and what it called: the rest inside of it allocates for it. */
static void put_frames(const struct page *p, uint32_t joined, FILE *out)
{
	static const struct listing_column column = { NULL, LISTING_LEFT, 0, FRAME_COLUMN };
	struct listing *t = listing_new(&column, 1, COLUMNS_OF_TEXT);
	struct join_frame *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	size_t n = join_frames(p->d->join, joined, frames, FRAMES_MAX), first = 0;

	n = up_to_main(frames, n);
	while (first < n && !frames[first].site)
		first++;
	first = first == n ? 0 : first - (first > 0);
	for (size_t i = first; i < n && i < first + FRAMES_SHOWN; i++)
		put_frame(&frames[i], t);
	if (n > first + FRAMES_SHOWN) {
		listing_row(t);
		fprintf(listing_cell(t), "... %zu frame%s more", n - first - FRAMES_SHOWN,
			format_s(n - first - FRAMES_SHOWN));
	}
	listing_end(t, out);
	free(frames);
}

static void put_stack(const struct page *p, const struct diff_row *r, struct listing *t)
{
	char n[NUMBER], what[3 * NUMBER], among[48] = "";
	enum diff_value of = diff_blocks_of(p->d->value);
	double blocks = diff_change(p->d, r->sums, of);
	uint32_t count = p->d->join->list[r->stack].among;

	if (count)
		snprintf(among, sizeof among, ", among %u inlined", count);
	if (p->d->value != DIFF_BLOCKS && blocks != 0)
		snprintf(what, sizeof what, "  %s, %s block%s", diff_kind_name(r->kind),
			 change(p, n, blocks, of), format_s(diff_round(fabs(blocks))));
	else
		snprintf(what, sizeof what, "  %s", diff_kind_name(r->kind));
	fprintf(listing_name(t, r->owner, NULL, NULL, columns_of(what) + columns_of(among)), "%s%s",
		what, among);
	put_frames(p, r->stack, listing_below(t));
}

static void put_warnings(const struct page *p)
{
	for (size_t i = 0; i < p->d->sides_count; i++) {
		const struct side *s = p->d->sides[i];
		for (size_t k = 0; k < s->warning_count; k++) {
			fputs(!i && !k ? "\n! " : "! ", p->out);
			put_foreign(p->out, s->label);
			fputs(": ", p->out);
			put_foreign(p->out, s->warnings[k]);
			fputc('\n', p->out);
		}
	}
}

int diff_write_text(const struct diff *d, FILE *out, struct err *err)
{
	char *text = NULL;
	size_t size;
	struct page p = { .d = d, .out = open_memstream(&text, &size) };

	if (!p.out)
		base_out_of_memory();
	for (size_t i = 0; i < d->sides_count; i++)
		p.about |= d->sides[i]->estimate;
	put_head(&p);
	put_part(&p, &(struct part){ "Owners", "OWNER", &d->owners, put_owner, ROWS_SHOWN });
	put_part(&p, &(struct part){ "Call sites", "CALL SITE < CALLER", &d->sites, put_site,
				     ROWS_SHOWN });
	put_part(&p, &(struct part){ "Stacks", "OWNER, and frames around the call site", &d->stacks,
				     put_stack, STACKS_SHOWN });
	put_warnings(&p);
	fclose(p.out);
	columns_wrap(text, out);
	free(text);
	return report_flush(out, err);
}
