/* SPDX-License-Identifier: MIT
 *
 * output.h - what -o names. Main thread only.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/base.h"

/*
 * Opens what -o names (NULL: standard output) and calls write(). A plain file is there whole or
 * not at all; a device or a pipe is written as it is. 0; -1 and *err.
 */
int output_write(const char *path, int (*write)(void *arg, FILE *out, struct err *err), void *arg,
		 struct err *err);

#endif
