/* SPDX-License-Identifier: MIT
 *
 * json_looks.h - of a JSON report, what the agent's looks through the live blocks say: of what the
 * resident memory consists, how old the blocks are; and what of it is not known, and why. Main
 * thread only.
 */
#ifndef REPORT_JSON_LOOKS_H
#define REPORT_JSON_LOOKS_H

#include "link/watch.h"

#include <jansson.h>

/* New references; null: not known. */
json_t *export_json_resident(const struct model *m);
json_t *export_json_ages(const struct model *m);
json_t *export_json_not_known(const struct watch *w); /* sentences */

#endif
