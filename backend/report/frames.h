/* SPDX-License-Identifier: MIT
 *
 * frames.h - the frames of a stack, innermost first, inlined functions among them: for every format
 * and for check's rules. Main thread only.
 */
#ifndef REPORT_FRAMES_H
#define REPORT_FRAMES_H

#include "owners/expected.h"
#include "report/report.h"

#define REPORT_FRAMES 4096 /* of one stack */

struct report_frame {
	uint32_t location; /* the model's */
	uint32_t frame;    /* in the report's names */
	bool inlined;      /* into the frame that follows (outer) */
	bool by_pointer;   /* as frame_out's */
	bool cut;          /* no frame, but why the rest is missing; the last one */
	bool site;         /* as frame_out's */
};

/* Of a stack, by its number; list: REPORT_FRAMES. Returns their count. */
size_t report_frames(const struct report *r, uint32_t stack, struct report_frame *list);
/* The same with all that is known of each, for a reader; without the cut. */
size_t report_stack_frames(const struct report *r, uint32_t stack, struct frame_out *list,
			   size_t max);
/* What is known of one frame. */
struct frame_out report_frame_out(const struct report *r, const struct report_frame *f);

/* The call site of a stack: an index into the report's names->frames; NO_ID of one without frames.
 */
uint32_t report_site(const struct report *r, uint32_t stack);
/* Its key for rules (owners/expected.h), as query_stack_key()'s. */
void report_site_key(const struct report *r, uint32_t stack, char key[EXPECTED_KEY_MAX]);

#endif
