/* SPDX-License-Identifier: MIT
 *
 * ascii.h - upper and lower case of memtop's own words. tolower() and strcasecmp() follow the
 * user's locale, and in Turkish I is not the upper case of i. Any thread.
 */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stdbool.h>

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The same but for upper and lower case. */
static inline bool ascii_same(const char *a, const char *b)
{
	while (*a && ascii_lower(*a) == ascii_lower(*b))
		a++, b++;
	return ascii_lower(*a) == ascii_lower(*b);
}

#endif
