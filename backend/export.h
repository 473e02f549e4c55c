/* SPDX-License-Identifier: MIT
 *
 * export.h - a model as a file that people or scripts read. Main thread only.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "query.h"
#include "watch.h"

struct export_options {
	uint32_t from, to;       /* changes[]: --since M (to 0 = now), --between A..B */
	bool changes;            /* whether from/to are asked for */
	size_t top;              /* text: rows per table, 0 = default */
};

/* One per format: writes the whole report to `out`; -1 and *err when writing fails. */
int export_json(struct watch *w, struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_text(struct watch *w, struct query *q, const struct export_options *o, FILE *out, struct err *err);

struct export_format { const char *name, *ending; int (*write)(struct watch *, struct query *, const struct export_options *, FILE *, struct err *); };
extern const struct export_format export_formats[]; /* ends with name NULL */
const struct export_format *export_by_name(const char *name);
const struct export_format *export_by_path(const char *path);

#endif
