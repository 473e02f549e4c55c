/* SPDX-License-Identifier: MIT
 *
 * formats.c - the formats of a check's result, by name.
 */
#include "check/formats/formats.h"

#include <string.h>

const struct check_format check_formats[] = {
	{ "text", check_text },     { "junit", check_junit }, { "json", check_json },
	{ "github", check_github }, { NULL, NULL },
};

const struct check_format *check_format_named(const char *name)
{
	for (const struct check_format *f = check_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
