/* SPDX-License-Identifier: MIT
 *
 * json.h - the parts of a JSON report, each as new references. Main thread only.
 */
#ifndef REPORT_JSON_JSON_H
#define REPORT_JSON_JSON_H

#include "report/report.h"
#include "link/watch.h"
#include "processes/processes.h"

#include <jansson.h>

/* agent.c: the agent in a JSON report. */

json_t *report_json_agent(const struct report *r); /* a new reference */

/* verdict.c. */

json_t *report_json_verdict(const struct report *r, struct query *q); /* a new reference */

/* looks.c: the agent's scans of live blocks in a JSON report: the breakdown of resident memory,
 * the ages of blocks, and what is unknown, with the reason. */

/* New references; null: not known. */
json_t *report_json_resident(const struct model *m);
json_t *report_json_ages(const struct model *m);
json_t *report_json_not_known(const struct watch *w); /* sentences */

/* processes.c: the processes of a tree in a JSON report. */

/* New references: the tree's totals, and an element of processes[]. */
json_t *report_tree_json(const struct processes *p);
json_t *report_process_json(const struct process *p);

#endif
