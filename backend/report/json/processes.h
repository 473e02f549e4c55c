/* SPDX-License-Identifier: MIT
 *
 * processes.h - the processes of a tree in a JSON report. Main thread only.
 */
#ifndef REPORT_JSON_PROCESSES_H
#define REPORT_JSON_PROCESSES_H

#include "processes/processes.h"

#include <jansson.h>

/* New references: the tree's totals, and an element of processes[]. */
json_t *report_tree_json(const struct processes *p);
json_t *report_process_json(const struct process *p);

#endif
