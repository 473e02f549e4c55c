/* SPDX-License-Identifier: MIT
 *
 * data.h - an html page's data but its call tree. Main thread only.
 */
#ifndef REPORT_HTML_DATA_H
#define REPORT_HTML_DATA_H

#include "report/html/tree.h"

/* One JSON object, see html/data.js for who reads it. The chosen change comes from `o`. */
void html_data_put(struct report *r, struct watch *w, struct query *q, const struct html_tree *t,
		   const struct report_options *o, struct pack *out);

#endif
