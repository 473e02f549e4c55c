/* SPDX-License-Identifier: MIT
 *
 * folded.c - a diff for flamegraph.pl: "main;load;make_page 1024 4096", outermost frame first,
 * with the value of A and of B, as difffolded.pl writes them.
 */
#include "diff/diff.h"

#include "base/sanitize.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512

/* ';' ends a frame. */
static void put_name(FILE *out, const char *text)
{
	char clean[4096];

	sanitize_clean(clean, sizeof clean, text);
	for (char *c = clean; (c = strchr(c, ';'));)
		*c = ':';
	fputs(*clean ? clean : "?", out);
}

static void put_frame(FILE *out, const struct join_frame *f)
{
	if (f->function)
		put_name(out, f->function);
	else if (f->name)
		put_name(out, f->name);
	else
		put_name(out, f->module ? f->module : "?");
}

static void put_stack(const struct diff *d, const struct diff_row *r, struct join_frame *frames,
		      FILE *out)
{
	unsigned long long a = diff_whole(diff_mean(d, r->sums, false, d->value)),
			   b = diff_whole(diff_mean(d, r->sums, true, d->value));
	size_t n = join_frames(d->join, r->stack, frames, FRAMES_MAX);

	if (!a && !b)
		return;
	for (size_t i = n; i-- > 0;) {
		put_frame(out, &frames[i]);
		fputs(i ? ";" : "", out);
	}
	fprintf(out, "%s %llu %llu\n", n ? "" : "?", a, b);
}

int diff_write_folded(const struct diff *d, FILE *out, struct err *err)
{
	struct join_frame *frames = xcalloc(FRAMES_MAX, sizeof *frames);

	for (size_t i = 0; i < d->stacks.count; i++)
		put_stack(d, &d->stacks.list[i], frames, out);
	free(frames);
	return report_flush(out, err);
}
