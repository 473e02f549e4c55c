/* SPDX-License-Identifier: MIT
 *
 * gzip.h - a stream that compresses what is written to it.
 */
#ifndef REPORT_GZIP_H
#define REPORT_GZIP_H

#include <stdio.h>

/* Closing it ends the compressed stream and leaves `out` open; errors stay with `out`. */
FILE *gzip_open(FILE *out);

#endif
