/* SPDX-License-Identifier: MIT
 *
 * formats.c - the formats of a report. A new format is one file, which defines its struct
 * report_format as report_NAME, and one line here.
 */
#include "report/formats.h"

#include <string.h>

#define FORMATS(F)                                                                                 \
	F(text)                                                                                    \
	F(json)

#define DECLARE(name) extern const struct report_format report_##name;
#define LIST(name) &report_##name,
FORMATS(DECLARE)

static const struct report_format *const formats[] = { FORMATS(LIST) NULL };

const struct report_format *formats_by_name(const char *name)
{
	for (const struct report_format *const *f = formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

const struct report_format *formats_by_path(const char *path)
{
	size_t len = strlen(path);

	for (const struct report_format *const *f = formats; *f; f++) {
		size_t end = strlen((*f)->ending);

		if (len > end && !strcmp(path + len - end, (*f)->ending))
			return *f;
	}
	return NULL;
}
