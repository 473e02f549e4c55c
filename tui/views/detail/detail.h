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
	bool inclusive;  /* includes paths below the node */
	uint32_t stacks; /* stacks summed in the row; this one is the heaviest */
	bool scanning;
	uint64_t asked_ns;    /* now_ns() of the last request */
	uint64_t scan_before; /* request id of the ages known before the page's own request */
	uint32_t *slots;      /* owned; of the path and all below it, up to the room */
	size_t slot_count;
	bool slots_whole;
	uint64_t slots_marks; /* model_marks_generation() when gathered */
	/* of all processes: who holds it, heaviest first; owned */
	struct process_held *holders;
	size_t holder_count, holder; /* the chosen one */
	struct source_text source;
};

/* For the app. `stacks`: stacks summed in the row; this one is the heaviest. */
struct view *view_detail_new(struct ui *ui, uint32_t leaf, bool inclusive, uint32_t stacks);

/* For the page's own files. */

/* "~", for figures that are partly sampled. */
const char *detail_about(const struct detail *d);
void detail_source(struct detail *d, const struct frame_out *frames, size_t count);
/* The live part of the path's allocations between marks, from its slots per mark. */
void detail_survival(struct detail *d);
void detail_scan(struct detail *d, const struct scan_ages *s);
/* Ages and threads where no agent answers: in the past, or after the session's end. */
void detail_looked(struct detail *d);

#endif
