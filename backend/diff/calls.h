/* SPDX-License-Identifier: MIT
 *
 * calls.h - a call tree of functions made of joined stacks: nodes of one function below one parent
 * are one node. Main thread only.
 *
 * Strings are borrowed.
 */
#ifndef DIFF_CALLS_H
#define DIFF_CALLS_H

#include "base/map.h"
#include "report/html/calls.h"

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
void calls_put(const struct calls *c, struct pack *out);

#endif
