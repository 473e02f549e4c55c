/* SPDX-License-Identifier: MIT
 *
 * formats.c - the formats that a diff is written in.
 */
#include "diff/formats/formats.h"

#include <string.h>

const struct diff_format diff_formats[] = {
	{ "text", ".txt", diff_write_text },
	{ "json", ".json", diff_write_json },
	{ "folded", ".folded", diff_write_folded },
	{ "html", ".html", diff_write_html },
	{ NULL, NULL, NULL },
};

const struct diff_format *diff_format_named(const char *name)
{
	for (const struct diff_format *f = diff_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct diff_format *diff_format_by_path(const char *path)
{
	size_t len = strlen(path);

	for (const struct diff_format *f = diff_formats; f->name; f++) {
		size_t end = strlen(f->ending);
		if (len > end && !strcmp(path + len - end, f->ending))
			return f;
	}
	return NULL;
}
