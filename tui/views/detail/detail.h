/* SPDX-License-Identifier: MIT
 *
 * detail.h - the page of one call path, in three files: views/detail/detail.c draws figures and
 * frames, views/detail/source.c the source around the call site, views/detail/scan.c the results of
 * the agent's scan.
 */
#ifndef DETAIL_H
#define DETAIL_H

#include "views/ui.h"
#include "widgets/page.h"
#include "widgets/source.h"

struct detail {
	struct page p; /* first */
	uint32_t node;
	bool inclusive;  /* with the paths below the node */
	uint32_t stacks; /* that the row adds up; this one is the heaviest */
	bool scanning;
	uint64_t asked_ns;    /* now_ns() of the last time */
	uint64_t scan_before; /* request of the ages that were there when ours was asked for */
	uint32_t *slots;      /* owned; of the path, and of all below it: as far as there is room */
	size_t slot_count;
	bool slots_whole;
	uint64_t slots_marks; /* model_marks_generation() then */
	struct source_text source;
};

/* For the app. `stacks`: how many the row stands for; this one is the heaviest. */
struct view *view_detail_new(struct ui *ui, uint32_t leaf, bool inclusive, uint32_t stacks);

/* --- for the page's own files */

/* "~" before figures that have a share that was sampled. */
const char *detail_about(const struct detail *d);
void detail_source(struct detail *d, const struct frame_out *frames, size_t count);
/* Of its slots that came with the marks: what is left of what was allocated between them. */
void detail_survival(struct detail *d);
void detail_scan(struct detail *d, const struct scan_ages *s);
/* Ages and threads where nobody can be asked: of an instant of the past, of a session that has
 * ended. */
void detail_looked(struct detail *d);

#endif
