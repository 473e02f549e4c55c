/* SPDX-License-Identifier: MIT
 *
 * source.c - the source around a path's call site. Each line shows the live memory of all call
 * paths of the program whose call site is on that line.
 */
#include "views/detail/detail.h"

#include "diff/judgement.h"
#include "screen/term.h"

#include <stdlib.h>
#include <sys/stat.h>

#define FIGURES_WIDTH 30 /* behind a line: bytes, blocks */
#define TEXT_LEAST 20

/* The call site; where its line is not known, the nearest frame with one. */
static const struct frame_out *place_of(const struct frame_out *frames, size_t count)
{
	size_t i = 0;

	while (i < count && !frames[i].site)
		i++;
	for (i = i < count ? i : 0; i < count; i++)
		if (frames[i].file && frames[i].line)
			return &frames[i];
	return NULL;
}

static uint64_t changed_ns(const char *path)
{
	struct stat st;

	return stat(path, &st)
		       ? 0
		       : (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
}

/* The compiled text may differ: compares the source file's time with the program's. */
static void say_newer(struct detail *d, const struct frame_out *f)
{
	const struct model *m = d->p.v.ui->shown.model;
	const struct module *x = f->module_id == NO_ID ? NULL : model_module(m, f->module_id);
	const struct program *p = model_program(m);
	uint64_t built = x && x->path ? changed_ns(x->path) : 0;

	if (built && d->source.changed_ns > built)
		page_add(&d->p, ROLE_WARNING, "The file is newer than %s: lines may have moved.",
			 x->name);
	else if (p && p->start_unix_ns && d->source.changed_ns > p->start_unix_ns)
		page_add(&d->p, ROLE_WARNING,
			 "The file changed after the program started: lines may have moved.");
}

static const struct source_line *sum_of(const struct source_line *list, size_t n, uint32_t line)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].number == line)
			return &list[i];
	return NULL;
}

static void add_line(struct detail *d, uint32_t number, const char *text, int width,
		     const struct source_line *sum)
{
	char clipped[TEXT_MAX], bytes[32], blocks[TEXT_BLOCKS], figures[80] = "",
								row[TEXT_MAX + 128];
	bool here = number == d->source.line;
	int used = text_clip(clipped, text, sum ? width : TEXT_MAX, CLIP_END);
	const char *w = sum && sum->estimate ? "~" : "";

	if (sum)
		snprintf(figures, sizeof figures, "%*s  %s%8s  %s%s", width - used, "", w,
			 text_bytes(bytes, sum->live_bytes), w,
			 text_blocks(blocks, sum->live_blocks));
	snprintf(row, sizeof row, "%s%6u  %s%s", here ? ">" : " ", number, clipped, figures);
	page_add(&d->p, here ? ROLE_HIT : sum ? ROLE_NUMBER : ROLE_PLACE, "%s", row);
}

static void add_file(struct detail *d, const struct frame_out *f)
{
	const struct source_text *s = &d->source;
	const struct diff_tree *compared = d->p.v.ui->compared;
	struct source_line *of_b = NULL;
	const struct source_line *list;
	uint64_t bytes = 0;
	bool estimate = false;
	char text[32];
	bool whole = true;
	size_t n;
	int room = term_columns() - 10 - FIGURES_WIDTH, width = TEXT_LEAST;

	if (compared) {
		n = diff_lines(compared->d, f->file, &of_b);
		list = of_b;
	} else {
		whole = query_lines(d->p.v.ui->shown.query, f->file, &list, &n);
	}
	for (size_t i = 0; i < n; i++) {
		bytes += list[i].live_bytes;
		estimate |= list[i].estimate;
	}
	page_add(&d->p, ROLE_TITLE, "Source  %s", s->path);
	page_add(&d->p, ROLE_DIM,
		 "%s by line, over all call paths. The file's total: %s%s on %zu line%s%s",
		 compared ? "B" : "LIVE", estimate ? "~" : "", text_bytes(text, bytes), n,
		 format_s(n), whole ? "." : ", still adding up.");
	say_newer(d, f);
	for (uint32_t i = 0; i < s->count; i++) {
		int w = text_width(s->lines[i]);
		width = w > width ? w : width;
	}
	width = width < room ? width : room > TEXT_LEAST ? room : TEXT_LEAST;
	for (uint32_t i = 0; i < s->count; i++)
		add_line(d, s->first + i, s->lines[i], width, sum_of(list, n, s->first + i));
	if (s->first + s->count <= s->line)
		page_add(&d->p, ROLE_WARNING,
			 "The file has no line %u: it is not the file that was compiled.", s->line);
	free(of_b);
}

void detail_source(struct detail *d, const struct frame_out *frames, size_t count)
{
	const struct frame_out *f = place_of(frames, count);

	if (!f)
		return;
	source_read(&d->source, f->file, f->line);
	page_add(&d->p, ROLE_NORMAL, "%s", "");
	if (d->source.path) {
		add_file(d, f);
		return;
	}
	page_add(&d->p, ROLE_TITLE, "Source");
	page_add(&d->p, ROLE_DIM, "%s:%u", f->file, f->line);
	page_add(&d->p, ROLE_DIM,
		 "is not on this machine; \":source DIR\" adds a folder to search.");
}
