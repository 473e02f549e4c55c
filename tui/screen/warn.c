/* SPDX-License-Identifier: MIT
 *
 * warn.c - a sentence for the user on stderr: one line, cleaned.
 */
#include "screen/warn.h"

void warn(const char *format, ...)
{
	char text[sizeof((struct err *)NULL)->text];
	va_list args;

	va_start(args, format);
	err_line(text, sizeof text, format, args);
	va_end(args);
	fprintf(stderr, "memtop: %s\n", text);
}
