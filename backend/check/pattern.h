/* SPDX-License-Identifier: MIT
 *
 * pattern.h - names with wildcards, for limits and suppressions. No state; any thread.
 */
#ifndef CHECK_PATTERN_H
#define CHECK_PATTERN_H

#include <stdbool.h>

/* Does the whole text match? `*`: any text. `?`: one character if `question`, else itself. */
bool pattern_matches(const char *pattern, const char *text, bool question);

#endif
