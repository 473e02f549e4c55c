/* SPDX-License-Identifier: MIT
 *
 * formats.c - the formats of a report. A new format is one file and one line here.
 */
#include "report/formats.h"

#include <string.h>

const struct export_format export_formats[] = {
	{ "text", ".txt", export_text },
	{ "json", ".json", export_json },
	{ NULL, NULL, NULL },
};

const struct export_format *export_by_name(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct export_format *export_by_path(const char *path)
{
	size_t len = strlen(path);

	for (const struct export_format *f = export_formats; f->name; f++) {
		size_t end = strlen(f->ending);

		if (len > end && !strcmp(path + len - end, f->ending))
			return f;
	}
	return NULL;
}
