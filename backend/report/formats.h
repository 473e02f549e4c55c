/* SPDX-License-Identifier: MIT
 *
 * formats.h - writes a model to a file that people or scripts read. Main thread only.
 */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "processes/processes.h"
#include "query/query.h"
#include "link/watch.h"

struct export_options {
	uint32_t from, to;                 /* changes[]: --since M (to 0 = now), --between A..B */
	bool changes;                      /* whether from/to are asked for */
	size_t top;                        /* text: rows per table, 0 = default */
	const struct processes *processes; /* the tree that the watch is one of; NULL = not known */
	uint32_t process;                  /* its id there */
};

struct export_format {
	const char *name, *ending;
	/* the whole report to the file; -1 and *err when writing fails */
	int (*write)(struct watch *, struct query *, const struct export_options *, FILE *,
		     struct err *);
};
const struct export_format *export_by_name(const char *name);
const struct export_format *export_by_path(const char *path);

#endif
