/* SPDX-License-Identifier: MIT
 *
 * paths.h - stacks merged into a tree by the names of their frames, for formats that draw one. Main
 * thread only.
 *
 *   a path's value = values of the stacks through it
 */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include "report/shown.h"

struct path {
	uint64_t value;
	uint32_t name; /* number of its label */
	uint32_t location;
	uint32_t parent, first, next; /* first child, next sibling; largest first. NO_ID ends */
	uint32_t depth;
};

struct paths {
	struct path *list; /* 0 is the root, whose name means nothing */
	size_t count, room;
};

/*
 * The tree of x's stacks: what is live, or of a change what grew. outermost: the root's children
 * are the outermost frames, else the innermost.
 */
void paths_make(struct paths *t, struct shown *x, bool outermost);
void paths_release(struct paths *t);

#endif
