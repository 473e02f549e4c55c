/* SPDX-License-Identifier: MIT
 *
 * calls.h - a call tree of functions, as an html page and a diff have it: inlined functions are
 * nodes of their own, and nodes of one function below one parent are one node. Main thread only.
 *
 * Strings are borrowed.
 */
#ifndef REPORT_HTML_CALLS_H
#define REPORT_HTML_CALLS_H

#include "base/map.h"
#include "model/model.h"
#include "report/html/pack.h"

#define CALLS_SEVERAL UINT32_MAX /* lines */

struct call_frame {
	const char *name, *full, *file; /* short; full: NULL = unknown; file: NULL = unknown */
	const char *library;            /* NULL = outside of every module */
};

struct call_node {                          /* 0: the root */
	uint32_t parent, frame, line;       /* line: of the call in it; 0 = unknown */
	uint32_t first_child, next_sibling; /* 0 = none: the root is nobody's child */
	uint32_t place;                     /* in depth-first order */
};

struct calls {
	struct call_node *nodes;
	size_t node_count, node_room;
	struct call_frame *frames;
	size_t frame_count, frame_room;
	uint32_t *order;     /* nodes by place, after calls_order() */
	struct map children; /* parent << 32 | frame -> node */
	struct map frame_of; /* the caller's key -> frame */
};

void calls_begin(struct calls *c); /* enters the root */
void calls_release(struct calls *c);
/* The frame of this key, entered from *f the first time; then, a file that it lacked. */
uint32_t calls_frame(struct calls *c, uint64_t key, const struct call_frame *f);
uint32_t calls_child(struct calls *c, uint32_t parent, uint32_t frame, uint32_t line);
void calls_order(struct calls *c);
/* The keys "frames", "libraries_of_frames" and "nodes": columns, in depth-first order. A node's
 * depth is told by `up`: by how many levels its parent is above the node before it. */
void calls_put(const struct calls *c, struct pack *out);

#endif
