/* SPDX-License-Identifier: MIT
 *
 * merged.h - a call tree by names: the call tree's nodes with their inlined frames spread out, and
 * all frames of one name below one parent as one. Immutable once made; any thread.
 *
 * What a name is, the caller says: a number for each frame. Numbers of merged nodes are in
 * depth-first order, so parents come first. Whatever is kept by merged node is summed up by one
 * pass from the last to the first.
 */
#ifndef HEAP_MERGED_H
#define HEAP_MERGED_H

#include "heap/names.h"
#include "heap/skeleton.h"

#define MERGED_LINES UINT32_MAX /* calls from several lines */

struct merged {
	uint32_t count; /* 0 is the root */
	/* by number; frame: an index into names->frames, of the first one that came here */
	uint32_t *parent, *frame;
	uint32_t *line;    /* of the call in it; 0 = unknown */
	uint32_t *of_node; /* by the skeleton's node: where its innermost frame went */
};

/* name: by frame, 0 .. names_count - 1. Siblings are in the order of the tree. */
struct merged *merged_new(const struct skeleton *s, const struct heap_names *n,
			  const uint32_t *name, uint32_t names_count);
void merged_free(struct merged *m);

#endif
