/* SPDX-License-Identifier: MIT
 *
 * text.c - a diff for people, at most 80 columns wide: totals, owners, call sites, and the stacks
 * that changed most. What a table leaves out is summed in its last lines, so that columns add up.
 */
#include "diff/formats/formats.h"

#include "base/format.h"
#include "base/sanitize.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80u
#define ROWS_SHOWN 12
#define STACKS_SHOWN 8
#define FRAMES_MAX 512
#define FRAMES_SHOWN 12
#define NAME_COLUMN 36u /* where a row's words begin */

struct page {
	const struct diff *d;
	FILE *out;
	bool about; /* some session's amounts are estimates */
	unsigned column;
};

/* --- words, clipped to the line */

/* The first `cells` characters of a clean text, or what follows the first `skip`. */
static const char *after(const char *s, unsigned skip)
{
	int32_t cp;

	for (; skip && *s; skip--)
		s += sanitize_decode(s, &cp);
	return s;
}

static unsigned cells_of(const char *s)
{
	unsigned n = 0;
	int32_t cp;

	for (; *s; n++)
		s += sanitize_decode(s, &cp);
	return n;
}

static void put(struct page *p, const char *s)
{
	fputs(s, p->out);
	p->column += cells_of(s);
}

/* A foreign text in `room` columns; a longer one loses its middle. */
static void put_foreign(struct page *p, const char *text, unsigned room)
{
	char clean[4096];
	unsigned cells, head = room > 3 ? (room - 3 + 1) / 2 : 0;

	sanitize_clean(clean, sizeof clean, text);
	cells = cells_of(clean);
	if (cells > room && room > 3) {
		fprintf(p->out, "%.*s...%s", (int)(after(clean, head) - clean), clean,
			after(clean, cells - (room - 3 - head)));
		p->column += room;
	} else if (cells <= room) {
		put(p, clean);
	}
}

static unsigned left(const struct page *p)
{
	return p->column < WIDTH ? WIDTH - p->column : 0;
}

static void end_line(struct page *p)
{
	fputc('\n', p->out);
	p->column = 0;
}

static void pad_to(struct page *p, unsigned column)
{
	while (p->column < column)
		put(p, " ");
}

/* Breaks a sentence between words; later lines are indented. */
static void put_sentence(struct page *p, const char *lead, const char *text)
{
	char clean[2048];

	sanitize_clean(clean, sizeof clean, text);
	put(p, lead);
	for (char *save = NULL, *w = strtok_r(clean, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		if (p->column + 1 + cells_of(w) > WIDTH && p->column > strlen(lead)) {
			end_line(p);
			pad_to(p, (unsigned)strlen(lead));
		} else if (p->column > strlen(lead)) {
			put(p, " ");
		}
		put(p, w);
	}
	end_line(p);
}

/* --- numbers */

#define NUMBER (FORMAT_NUMBER + 2)

static bool in_bytes(enum diff_value v)
{
	return v == DIFF_LIVE || v == DIFF_ALLOCATED;
}

static const char *amount(const struct page *p, char buf[NUMBER], double n, enum diff_value v)
{
	char plain[FORMAT_NUMBER];
	uint64_t whole = diff_whole(n);

	snprintf(buf, NUMBER, "%s%s", whole && p->about ? "~" : "",
		 in_bytes(v) ? format_bytes(plain, whole) : format_count(plain, whole));
	return buf;
}

static const char *change(const struct page *p, char buf[NUMBER], double n, enum diff_value v)
{
	char plain[NUMBER];
	bool zero = diff_whole(fabs(n)) == 0;

	amount(p, plain, fabs(n), v);
	snprintf(buf, NUMBER, "%s%.31s", zero ? "" : n < 0 ? "-" : "+", plain);
	return buf;
}

/* --- head */

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
	put(p, name);
	unsigned room = left(p) - (unsigned)strlen(tail) - 2, program = room / 3;
	put_foreign(p, s->label, room - program);
	put(p, "  ");
	put_foreign(p, s->program, program);
	put(p, tail);
	end_line(p);
}

static void put_total(struct page *p, const char *word, enum diff_value v)
{
	const struct tally *sums = p->d->totals.sums;
	char a[NUMBER], b[NUMBER], c[NUMBER];
	double before = diff_mean(p->d, sums, false, v), more = diff_change(p->d, sums, v);

	fprintf(p->out, "%-10s %12s %12s %12s", word, amount(p, a, before, v),
		amount(p, b, diff_mean(p->d, sums, true, v), v), change(p, c, more, v));
	if (before > 0 && diff_whole(fabs(more)))
		fprintf(p->out, fabs(more) < before ? "  %+.1f %%" : "  %+.0f %%",
			more * 100 / before);
	if (v == p->d->value && p->d->judged && more != 0)
		fputs(p->d->totals.noise ? "  (noise)" : "  (a change)", p->out);
	fputc('\n', p->out);
}

static void put_noise(struct page *p)
{
	const struct diff *d = p->d;
	char text[DIFF_RULE + 128], rule[DIFF_RULE];

	diff_noise_rule(d, rule);
	if (d->by_runs)
		snprintf(text, sizeof text, "Noise is judged from %zu and %zu sessions; %s.",
			 d->sides_a, d->sides_count - d->sides_a, rule);
	else
		snprintf(text, sizeof text,
			 "Noise is not judged: that takes two sessions a side, better three "
			 "(memtop diff A1 A2 A3 -- B1 B2 B3).%s%s%s",
			 *rule ? " At peaks, " : "", rule, *rule ? "." : "");
	put_sentence(p, "", text);
}

static void put_joined(struct page *p)
{
	size_t by[JOIN_COMMON + 1] = { 0 };
	char n[5][FORMAT_NUMBER], text[512];

	for (size_t i = 0; i < p->d->join->list_count; i++)
		by[p->d->join->list[i].by]++;
	if (by[JOIN_RUN])
		snprintf(text, sizeof text, "Stacks: %s in both, of one run; %s in one alone.",
			 format_count(n[0], by[JOIN_RUN]), format_count(n[1], by[JOIN_NOT]));
	else
		snprintf(text, sizeof text,
			 "Stacks: %s in both (%s by build-id and offset, %s by function names, %s "
			 "with some frames less); %s in one alone.",
			 format_count(n[0], by[JOIN_OFFSETS] + by[JOIN_NAMES] + by[JOIN_OUTLINE] +
						    by[JOIN_COMMON]),
			 format_count(n[1], by[JOIN_OFFSETS]), format_count(n[2], by[JOIN_NAMES]),
			 format_count(n[3], by[JOIN_OUTLINE] + by[JOIN_COMMON]),
			 format_count(n[4], by[JOIN_NOT]));
	put_sentence(p, "", text);
}

static void put_head(struct page *p)
{
	for (size_t i = 0; i < p->d->sides_count; i++)
		put_session(p, i);
	fprintf(p->out, "\n%-10s %12s %12s %12s\n", "", p->d->sides_a > 1 ? "A (mean)" : "A",
		p->d->sides_count - p->d->sides_a > 1 ? "B (mean)" : "B", "CHANGE");
	put_total(p, "live", DIFF_LIVE);
	put_total(p, "blocks", DIFF_BLOCKS);
	put_total(p, "allocated", DIFF_ALLOCATED);
	fputc('\n', p->out);
	put_joined(p);
	put_noise(p);
}

/* --- tables */

static void put_title(struct page *p, const char *what, const char *column)
{
	static const char *const of[] = { "live bytes", "live blocks", "bytes allocated" };

	fprintf(p->out, "\n%s, by change of %s\n%10s %10s %10s    %s\n", what, of[p->d->value],
		"CHANGE", "A", "B", column);
}

static void put_numbers(struct page *p, double a, double b)
{
	char c[NUMBER], from[NUMBER], to[NUMBER];
	enum diff_value v = p->d->value;

	p->column += (unsigned)fprintf(p->out, "%10s %10s %10s", change(p, c, b - a, v),
				       amount(p, from, a, v), amount(p, to, b, v));
	do
		put(p, " ");
	while (p->column < NAME_COLUMN);
}

static void put_row_numbers(struct page *p, const struct diff_row *r)
{
	put_numbers(p, diff_mean(p->d, r->sums, false, p->d->value),
		    diff_mean(p->d, r->sums, true, p->d->value));
}

static void put_rest(struct page *p, const struct diff_rest *rest, const char *what)
{
	char n[FORMAT_NUMBER];

	if (!rest->count)
		return;
	put_numbers(p, rest->a, rest->b);
	fprintf(p->out, "%s %s", format_count(n, rest->count), what);
	end_line(p);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_owner(struct page *p, const struct diff_row *r)
{
	put_foreign(p, r->owner, left(p) - 8);
	put(p, "  ");
	put(p, diff_kind_name(r->kind));
	end_line(p);
}

static void put_site(struct page *p, const struct diff_row *r)
{
	const char *name = r->name ? r->name : "?", *caller = r->caller ? r->caller : "";
	unsigned room = left(p) - 8, wanted = cells_of(name) + cells_of(caller) + 3,
		 half = (room - 3) / 2, head = cells_of(name);

	if (*caller && wanted > room)
		head = cells_of(caller) < half ? room - 3 - cells_of(caller)
		       : head < half           ? head
					       : half;
	put_foreign(p, name, *caller && head < room ? head : room);
	if (*caller) {
		put(p, " < ");
		put_foreign(p, caller, left(p) - 8);
	}
	put(p, "  ");
	put(p, diff_kind_name(r->kind));
	end_line(p);
}

static bool is_changed(const struct diff_row *r)
{
	return r->kind != DIFF_SAME && !r->noise;
}

struct table {
	const char *title, *column;
	const struct diff_rows *rows;
	void (*row)(struct page *p, const struct diff_row *r);
	size_t shown_max;
};

static void put_table(struct page *p, const struct table *t)
{
	struct diff_rest more = { 0 }, noise = { 0 }, same = { 0 };
	size_t shown = 0;

	put_title(p, t->title, t->column);
	for (size_t i = 0; i < t->rows->count; i++) {
		const struct diff_row *r = &t->rows->list[i];
		if (!is_changed(r)) {
			diff_rest_add(p->d, r->kind == DIFF_SAME ? &same : &noise, r);
		} else if (shown == t->shown_max) {
			diff_rest_add(p->d, &more, r);
		} else {
			put_row_numbers(p, r);
			t->row(p, r);
			shown++;
		}
	}
	put_rest(p, &more, "more");
	put_rest(p, &noise, "within the noise");
	put_rest(p, &same, "unchanged");
}

/* --- stacks */

static void put_frame(struct page *p, const struct join_frame *f)
{
	char place[300] = "", number[32];

	if (f->file)
		snprintf(place, sizeof place, "  %.200s:%u", last_part(f->file), f->line);
	else if (!f->function && f->module)
		place[0] = '\0';
	else if (f->module)
		snprintf(place, sizeof place, "  %.200s", f->module);
	pad_to(p, NAME_COLUMN - 8);
	if (!f->name && !f->module)
		snprintf(number, sizeof number, "0x%llx", (unsigned long long)f->offset);
	unsigned room = left(p), tail = cells_of(place);
	tail = tail > room / 2 ? room / 2 : tail;
	put_foreign(p, f->name ? f->name : f->module ? f->module : number, room - tail);
	put_foreign(p, place, tail);
	end_line(p);
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
static void put_frames(struct page *p, uint32_t joined, struct join_frame *frames)
{
	size_t n = join_frames(p->d->join, joined, frames, FRAMES_MAX), first = 0;

	n = up_to_main(frames, n);
	while (first < n && !frames[first].site)
		first++;
	first = first == n ? 0 : first - (first > 0);
	for (size_t i = first; i < n && i < first + FRAMES_SHOWN; i++)
		put_frame(p, &frames[i]);
	if (n > first + FRAMES_SHOWN) {
		pad_to(p, NAME_COLUMN - 8);
		fprintf(p->out, "... %zu frame%s more", n - first - FRAMES_SHOWN,
			format_s(n - first - FRAMES_SHOWN));
		end_line(p);
	}
}

static void put_stack(struct page *p, const struct diff_row *r)
{
	struct join_frame *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	char n[NUMBER], what[2 * NUMBER], among[48] = "";
	enum diff_value of = diff_blocks_of(p->d->value);
	double blocks = diff_change(p->d, r->sums, of);
	uint32_t count = p->d->join->list[r->stack].among;

	if (count)
		snprintf(among, sizeof among, ", among %u inlined", count);

	if (p->d->value != DIFF_BLOCKS && blocks != 0)
		snprintf(what, sizeof what, "  %s, %s block%s", diff_kind_name(r->kind),
			 change(p, n, blocks, of), format_s(diff_whole(fabs(blocks))));
	else
		snprintf(what, sizeof what, "  %s", diff_kind_name(r->kind));
	put_foreign(p, r->owner, left(p) - cells_of(what) - cells_of(among));
	put(p, what);
	put(p, among);
	end_line(p);
	put_frames(p, r->stack, frames);
	free(frames);
}

/* --- the whole */

static void put_warnings(struct page *p)
{
	for (size_t i = 0; i < p->d->sides_count; i++) {
		const struct side *s = p->d->sides[i];
		for (size_t k = 0; k < s->warning_count; k++) {
			char *text = xasprintf("%s: %s", s->label, s->warnings[k]);
			if (!i && !k)
				end_line(p);
			put_sentence(p, "! ", text);
			free(text);
		}
	}
}

int diff_write_text(const struct diff *d, FILE *out, struct err *err)
{
	struct page p = { .d = d, .out = out };

	for (size_t i = 0; i < d->sides_count; i++)
		p.about |= d->sides[i]->estimate;
	put_head(&p);
	put_table(&p, &(struct table){ "Owners", "OWNER", &d->owners, put_owner, ROWS_SHOWN });
	put_table(&p, &(struct table){ "Call sites", "CALL SITE < CALLER", &d->sites, put_site,
				       ROWS_SHOWN });
	put_table(&p, &(struct table){ "Stacks", "OWNER, and frames around the call site",
				       &d->stacks, put_stack, STACKS_SHOWN });
	put_warnings(&p);
	return report_flush(out, err);
}
