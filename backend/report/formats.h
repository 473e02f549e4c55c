/* SPDX-License-Identifier: MIT
 *
 * formats.h - writes a model to a file that people or scripts read. Main thread only.
 */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "processes/processes.h"
#include "query/query.h"
#include "link/watch.h"

struct report_options {
	uint32_t from, to;                 /* changes[]: --since M (to 0 = now), --between A..B */
	bool changes;                      /* from/to were requested */
	size_t top;                        /* text: rows per table, 0 = default */
	const struct processes *processes; /* the watch's process tree; NULL = unknown */
	uint32_t process;                  /* the watch's id there */
};

struct report_format {
	const char *name, *ending;
	/* writes the whole report; -1 and *err when writing fails */
	int (*write)(struct watch *, struct query *, const struct report_options *, FILE *,
		     struct err *);
};
const struct report_format *formats_by_name(const char *name);
const struct report_format *formats_by_path(const char *path);

#endif
