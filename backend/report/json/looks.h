/* SPDX-License-Identifier: MIT
 *
 * looks.h - the agent's scans of live blocks in a JSON report: the breakdown of resident
 * memory, the ages of blocks, and what is unknown, with the reason. Main thread only.
 */
#ifndef REPORT_JSON_LOOKS_H
#define REPORT_JSON_LOOKS_H

#include "link/watch.h"

#include <jansson.h>

/* New references; null: not known. */
json_t *report_json_resident(const struct model *m);
json_t *report_json_ages(const struct model *m);
json_t *report_json_not_known(const struct watch *w); /* sentences */

#endif
