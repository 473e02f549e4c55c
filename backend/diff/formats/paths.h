/* SPDX-License-Identifier: MIT
 *
 * paths.h - the path of a joined stack as text: a piece for each code location, made once for all
 * stacks through it. Main thread only.
 */
#ifndef DIFF_FORMATS_PATHS_H
#define DIFF_FORMATS_PATHS_H

#include "base/map.h"
#include "diff/diff.h"

#define PATH_FRAMES 512u /* of one stack; a location's are never parted */

struct paths {
	const struct diff *d;
	/* A piece: frames of one location, innermost first. The caller's, until paths_release(). */
	char *(*piece)(void *arg, const struct join_frame *frames, size_t count);
	void *arg;
	struct map of_location; /* side, location, frame of the call site -> number + 1 */
	char **pieces;
	size_t count, room;
	const char **path; /* of the stack that was asked for last */
	size_t path_room;
	struct join_frame *frames;
};

/* Its pieces, innermost first, in p->path; returns their count. */
size_t paths_of(struct paths *p, uint32_t joined);
void paths_release(struct paths *p);

#endif
