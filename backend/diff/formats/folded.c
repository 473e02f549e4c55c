/* SPDX-License-Identifier: MIT
 *
 * folded.c - a diff for flamegraph.pl: "main;load;make_page 1024 4096", outermost frame first,
 * with the value of A and of B, as difffolded.pl writes them.
 */
#include "diff/formats/formats.h"

#include "base/sanitize.h"
#include "diff/formats/paths.h"
#include "report/report.h"

#include <string.h>

/* ';' ends a frame. */
static void put_name(FILE *out, const char *text)
{
	char clean[4096];

	sanitize_clean(clean, sizeof clean, text);
	for (char *c = clean; (c = strchr(c, ';'));)
		*c = ':';
	fputs(*clean ? clean : "?", out);
}

static char *piece(void *arg, const struct join_frame *frames, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)arg;
	if (!out)
		base_out_of_memory();
	for (size_t i = count; i-- > 0;) {
		const struct join_frame *f = &frames[i];

		put_name(out, f->function ? f->function
			      : f->name   ? f->name
			      : f->module ? f->module
					  : "?");
		fputs(i ? ";" : "", out);
	}
	if (fclose(out))
		base_out_of_memory();
	return text;
}

static void put_stack(struct paths *p, const struct diff_row *r, FILE *out)
{
	unsigned long long a = diff_round(diff_mean(p->d, r->sums, false, p->d->value)),
			   b = diff_round(diff_mean(p->d, r->sums, true, p->d->value));

	if (!a && !b)
		return;
	size_t n = paths_of(p, r->stack);
	for (size_t i = n; i-- > 0;) {
		fwrite_unlocked(p->path[i], 1, strlen(p->path[i]), out);
		if (i)
			putc_unlocked(';', out);
	}
	fprintf(out, "%s %llu %llu\n", n ? "" : "?", a, b);
}

int diff_write_folded(const struct diff *d, FILE *out, struct err *err)
{
	struct paths p = { .d = d, .piece = piece };

	for (size_t i = 0; i < d->stacks.count; i++)
		put_stack(&p, &d->stacks.list[i], out);
	paths_release(&p);
	return report_flush(out, err);
}
