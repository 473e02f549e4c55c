/* SPDX-License-Identifier: MIT
 *
 * stacks.h - the stacks of a text report, and those that changed. Main thread only.
 */
#ifndef REPORT_TEXT_STACKS_H
#define REPORT_TEXT_STACKS_H

#include "report/text/page.h"

void text_stacks(const struct page *p);
void text_stack(const struct page *p, const struct report_stack *s); /* what it holds; its frames */
/* list: report_changes(); sorted here by what they grew */
void text_changes(const struct page *p, struct report_stack *list, size_t n);

#endif
