/* SPDX-License-Identifier: MIT
 *
 * calls.h - writes a call tree of functions as an html page has it, of a report or of a diff. Main
 * thread only.
 */
#ifndef REPORT_HTML_CALLS_H
#define REPORT_HTML_CALLS_H

#include "report/html/pack.h"

#define CALLS_SEVERAL UINT32_MAX /* lines */

struct call_frame {
	const char *name, *full, *file; /* short; full: NULL = unknown; file: NULL = unknown */
	const char *library;            /* NULL = outside of every module */
};

/* Strings and columns are borrowed. */
struct html_calls {
	uint32_t count;         /* nodes, 0 is the root; in depth-first order */
	const uint32_t *parent; /* by node */
	const uint32_t *frame;  /* a number */
	const uint32_t *line;   /* of the call in it; 0 = unknown, or CALLS_SEVERAL */
	const struct call_frame *frames;
	size_t frame_count;
};

/* The keys "frames", "libraries_of_frames" and "nodes": columns. A node's depth is told by `up`: by
 * how many levels its parent is above the node before it. */
void html_calls_put(const struct html_calls *c, struct pack *out);

#endif
