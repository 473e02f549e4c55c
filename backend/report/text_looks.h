/* SPDX-License-Identifier: MIT
 *
 * text_looks.h - of a text report, what the agent's looks through the live blocks say: a table
 * each, or the sentence why there is none. Main thread only.
 */
#ifndef REPORT_TEXT_LOOKS_H
#define REPORT_TEXT_LOOKS_H

#include "link/watch.h"

#include <stdio.h>

void export_text_resident(const struct watch *w, const struct model *m, FILE *out);
void export_text_ages(const struct watch *w, const struct model *m, FILE *out);

#endif
