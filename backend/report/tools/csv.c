/* SPDX-License-Identifier: MIT
 *
 * csv.c - a row a stack, for spreadsheets and data frames: RFC 4180, names of the columns first. No
 * text is a formula. The stacks that --stacks leaves out share one row without an id.
 */
#include "report/shown.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"')
			putc('"', out);
		putc(*s, out);
	}
}

/* A spreadsheet takes a cell that begins so for a formula; behind an apostrophe it is text. */
static void put_open(FILE *out, const char *s)
{
	fputs(*s && strchr("=+-@\t\r", *s) ? "\"'" : "\"", out);
}

static void put_field(struct shown *x, const char *s, FILE *out)
{
	uint32_t label = shown_label(x, s); /* which may move the labels */

	put_open(out, x->labels[label]);
	put_text(out, x->labels[label]);
	fputs("\",", out);
}

static void put_numbers(const struct shown *x, const struct report_stack *s, FILE *out)
{
	const struct tally *t = &s->sum;
	const struct change *c = &s->change;

	fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
		live_bytes(t), live_blocks(t), t->alloc_bytes, t->alloc_blocks, t->free_bytes,
		t->free_blocks);
	if (x->changes)
		fprintf(out,
			"%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
			shown_bytes(x, s), shown_blocks(x, s), c->born_bytes, c->born_blocks,
			c->gone_bytes, c->gone_blocks);
	fprintf(out, "%d,", s->estimate);
}

/* The call site: the innermost frame that is no allocation wrapper. */
static void put_site(struct shown *x, size_t count, FILE *out)
{
	size_t i = 0;

	while (i < count && !x->frames[i].site)
		i++;
	if (i == count) {
		fputs("\"\",\"\",,", out);
		return;
	}
	put_field(x, x->labels[x->frames[i].name], out);
	put_field(x, x->frames[i].file ? x->frames[i].file : "", out);
	if (x->frames[i].line)
		fprintf(out, "%" PRIu32, x->frames[i].line);
	putc(',', out);
}

static void put_row(struct shown *x, const struct report_stack *s, FILE *out)
{
	size_t count = shown_frames(x, s->stack);

	fprintf(out, "%" PRIu32 ",", s->leaf);
	put_numbers(x, s, out);
	put_field(x, report_owner(x->report, s->stack)->name, out);
	put_site(x, count, out);
	put_open(out, count ? x->labels[x->frames[count - 1].name] : "");
	for (size_t i = count; i-- > 0;) {
		put_text(out, x->labels[x->frames[i].name]);
		fputs(i ? ";" : "\"\r\n", out);
	}
}

static int by_growth(const void *pa, const void *pb)
{
	const struct change *a = &((const struct report_stack *)pa)->change,
			    *b = &((const struct report_stack *)pb)->change;
	int64_t m = llabs((int64_t)(a->born_bytes - a->gone_bytes)),
		n = llabs((int64_t)(b->born_bytes - b->gone_bytes));

	return (m < n) - (m > n);
}

static void put_rows(struct shown *x, size_t which, FILE *out)
{
	struct report_stack rest = { 0 };
	size_t left = 0;

	if (x->changes && which < STACKS_ALL)
		qsort(x->changed, x->count, sizeof *x->changed, by_growth);
	for (size_t i = 0; i < x->count; i++) {
		const struct report_stack s = shown_stack(x, i);

		if (stacks_list(which, i, &s.sum)) {
			put_row(x, &s, out);
			continue;
		}
		tally_add(&rest.sum, &s.sum);
		change_add(&rest.change, &s.change);
		rest.estimate |= s.estimate;
		left++;
	}
	if (!left)
		return;
	putc(',', out);
	put_numbers(x, &rest, out);
	fprintf(out, "\"\",\"\",\"\",,\"[%zu more stack%s]\"\r\n", left, format_s(left));
}

static int write_csv(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
		     struct err *err)
{
	struct shown x;

	(void)q;
	if (shown_open(&x, w, o, err))
		return -1;
	fputs("stack_id,live_bytes,live_blocks,allocated_bytes,allocated_blocks,freed_bytes,"
	      "freed_blocks,",
	      out);
	if (x.changes)
		fputs("net_bytes,net_blocks,born_bytes,born_blocks,gone_bytes,gone_blocks,", out);
	fputs("estimate,owner,site,file,line,stack\r\n", out);
	put_rows(&x, o->stacks ? o->stacks : STACKS_ALL, out);
	shown_close(&x);
	return report_flush(out, err);
}

const struct report_format report_csv = {
	.name = "csv",
	.ending = ".csv",
	.write = write_csv,
	.about = "a row a stack, for spreadsheets",
};
