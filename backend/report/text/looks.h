/* SPDX-License-Identifier: MIT
 *
 * looks.h - the agent's scans of live blocks in a text report: a table each, or a sentence
 * that says why there is none. Main thread only.
 */
#ifndef REPORT_TEXT_LOOKS_H
#define REPORT_TEXT_LOOKS_H

#include "link/watch.h"

#include <stdio.h>

void report_text_resident(const struct watch *w, const struct model *m, FILE *out);
void report_text_ages(const struct watch *w, const struct model *m, FILE *out);

#endif
