/* SPDX-License-Identifier: MIT
 *
 * formats.h - a model as a file that people or scripts read. Main thread only.
 */
#ifndef EXPORT_H
#define EXPORT_H

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

/* One per format: writes the whole report to `out`; -1 and *err when writing fails. */
int export_json(struct watch *w, struct query *q, const struct export_options *o, FILE *out,
		struct err *err);
int export_text(struct watch *w, struct query *q, const struct export_options *o, FILE *out,
		struct err *err);

/* The table of the tree: text, before the report of one of them; JSON, elements of processes[] and
 * what is known of all. */
void export_tree_text(const struct processes *p, uint32_t shown, FILE *out);
/* NULL = not known; owned by the caller */
struct json_t *export_tree_json(const struct processes *p);
struct json_t *export_process_json(const struct process *p);
/* by peak; free() */
size_t export_tree_sorted(const struct processes *p, const struct process ***list);

struct export_format {
	const char *name, *ending;
	int (*write)(struct watch *, struct query *, const struct export_options *, FILE *,
		     struct err *);
};
extern const struct export_format export_formats[]; /* ends with name NULL */
const struct export_format *export_by_name(const char *name);
const struct export_format *export_by_path(const char *path);

#endif
