/* SPDX-License-Identifier: MIT
 *
 * shell.h - runs shell commands for a test. Include it once, after check.h.
 */
#ifndef SHELL_H
#define SHELL_H

#include "base/base.h"

static void sh(const char *format, ...) PRINTF(1, 2);
static void sh(const char *format, ...)
{
	va_list args;
	char *command = NULL;

	va_start(args, format);
	CHECK(vasprintf(&command, format, args) > 0);
	va_end(args);
	if (system(command)) {
		printf("  failed: %s\n", command);
		CHECK(!"the command");
	}
	free(command);
}

#endif
