/* SPDX-License-Identifier: MIT
 *
 * format.h - what a format of reports is: it writes a model to a file that people or scripts read.
 * Main thread only.
 */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include "processes/all.h"
#include "processes/processes.h"
#include "query/query.h"
#include "link/watch.h"

/* What the one number of a stack counts, in a format that has one. */
enum report_value {
	VALUE_DEFAULT, /* live; of a change, growth */
	VALUE_LIVE,
	VALUE_BLOCKS,
	VALUE_ALLOCATED,
	VALUE_ALLOCATIONS,
	VALUE_TEMPORARY, /* bytes that were allocated and freed again */
	VALUE_GROWTH,    /* live bytes, before and after a change */
	VALUE_COUNT
};

/* Which stacks a format lists that has their sum apart. */
enum { STACKS_DEFAULT };
#define STACKS_LIVE SIZE_MAX /* those with live blocks */
#define STACKS_ALL (SIZE_MAX - 1)
static inline bool stacks_list(size_t which, size_t place, const struct tally *sum)
{
	return which == STACKS_LIVE ? live_blocks(sum) != 0 : place < which;
}

struct report_options {
	uint32_t from, to;                 /* changes[]: --since M (to 0 = now), --between A..B */
	bool changes;                      /* from/to were requested */
	bool window;                       /* ... of a window: only what was born in it */
	size_t stacks;                     /* json, csv: STACKS_*, or so many; the heaviest */
	bool full;                         /* text: every frame, names whole */
	enum report_value value;           /* folded; pprof: what is shown first */
	size_t top;                        /* text: rows per table, 0 = default */
	const struct processes *processes; /* the watch's process tree; NULL = unknown */
	uint32_t process;                  /* the watch's id there */
	const struct all *all;             /* the watch is All's of that tree; NULL = it is not */
};

/* One of several processes in a report. */
struct report_source {
	struct watch *watch;
	const struct report_options *options;
};

struct report_format {
	const char *name, *ending;
	/* writes the whole report; -1 and *err when writing fails */
	int (*write)(struct watch *, struct query *, const struct report_options *, FILE *,
		     struct err *);
	const char *about; /* one line: what reads it */
	bool binary;       /* not for a terminal */
	/* the same of several processes, told apart by labels; NULL = not in this format */
	int (*write_all)(const struct report_source *list, size_t count, FILE *, struct err *);
};

#endif
