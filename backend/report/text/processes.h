/* SPDX-License-Identifier: MIT
 *
 * processes.h - the processes of a tree in a text report. Main thread only.
 */
#ifndef REPORT_TEXT_PROCESSES_H
#define REPORT_TEXT_PROCESSES_H

#include "processes/processes.h"

/* The table before one process' report; shown: that process' id. */
void report_tree_text(const struct processes *p, uint32_t shown, FILE *out);

#endif
