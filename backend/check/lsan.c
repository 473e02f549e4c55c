/* SPDX-License-Identifier: MIT
 *
 * lsan.c - LeakSanitizer's suppressions: a line leak:PATTERN each.
 */
#include "check/rules.h"

#include "check/pattern.h"

#include <string.h>

/* The pattern may match anywhere, which `*` at both ends says; ^ and $ take one away. */
bool lsan_read(const char *line, struct rule *r)
{
	const char *text = line + 5;
	size_t len;

	if (strncmp(line, "leak:", 5) || !*text)
		return false;
	bool begin = *text == '^';
	text += begin;
	len = strlen(text);
	bool end = len && text[len - 1] == '$';
	*r = (struct rule){ .name = xstrdup(line) };
	r->pattern =
		xasprintf("%s%.*s%s", begin ? "" : "*", (int)(len - end), text, end ? "" : "*");
	return true;
}

static bool names(const struct rule *r, const char *text)
{
	return text && *text && pattern_matches(r->pattern, text, false);
}

bool lsan_matches(const struct rule *r, const struct rule_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (names(r, frames[i].function) || names(r, frames[i].file) ||
		    names(r, frames[i].path) || names(r, frames[i].module))
			return true;
	return false;
}
