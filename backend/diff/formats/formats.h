/* SPDX-License-Identifier: MIT
 *
 * formats.h - the formats that a diff is written in. Main thread only.
 */
#ifndef DIFF_FORMATS_FORMATS_H
#define DIFF_FORMATS_FORMATS_H

#include "diff/diff.h"

/* Writers: -1 and *err when writing fails. */
int diff_write_text(const struct diff *d, FILE *out, struct err *err);
int diff_write_json(const struct diff *d, FILE *out, struct err *err);
int diff_write_folded(const struct diff *d, FILE *out, struct err *err);
int diff_write_html(const struct diff *d, FILE *out, struct err *err);

struct diff_format {
	const char *name, *ending;
	int (*write)(const struct diff *d, FILE *out, struct err *err);
};
extern const struct diff_format diff_formats[]; /* ends with a name of NULL */
#define DIFF_FORMAT_WORDS "text, json, folded or html"
#define DIFF_ENDING_WORDS ".txt, .json, .folded or .html"
const struct diff_format *diff_format_named(const char *name); /* NULL = none */
const struct diff_format *diff_format_by_path(const char *path);

#endif
