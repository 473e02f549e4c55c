/* SPDX-License-Identifier: MIT
 *
 * agent.h - the agent in a JSON report. Main thread only.
 */
#ifndef REPORT_JSON_AGENT_H
#define REPORT_JSON_AGENT_H

#include "report/report.h"

#include <jansson.h>

json_t *report_json_agent(const struct report *r); /* a new reference */

#endif
