/* SPDX-License-Identifier: MIT
 *
 * pattern.c - see check/pattern.h. Backtracks only to the last `*`, which can match whatever an
 * earlier one could match in addition: the time is at most the product of both lengths.
 */
#include "check/pattern.h"

#include <stddef.h>

bool pattern_matches(const char *pattern, const char *text, bool question)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == *text || (question && *pattern == '?' && *text)) {
			if (!*pattern)
				return true;
			pattern++;
			text++;
		} else if (star && *from) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
}
