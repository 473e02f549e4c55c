/* SPDX-License-Identifier: MIT
 *
 * formats.h - all formats of reports. Main thread only.
 */
#ifndef REPORT_FORMATS_FORMATS_H
#define REPORT_FORMATS_FORMATS_H

#include "report/format.h"

const struct report_format *formats_at(size_t i); /* NULL past the last */
const struct report_format *formats_by_name(const char *name);
const struct report_format *formats_by_path(const char *path);
/* All formats, one a line: name, ending, about. */
void formats_list(FILE *out);
/* ".txt, .json, ... or .dot", for one line; returns buf. */
const char *formats_endings(char *buf, size_t size);

#endif
