/* SPDX-License-Identifier: MIT
 *
 * tree.h - the call tree of an html page. Main thread only.
 *
 * The page's nodes are merged by function, as the live view has them (heap/merged.h): a python3 of
 * 131,000 call paths would otherwise need a page several times as large. What a node's own stacks
 * hold is an ENTRY for each (node, owner, call site, epoch). An epoch keeps what is born and gone
 * between two marks exact: blocks of one epoch are only freed after its mark.
 *
 *   sum of entries = sum of stacks = totals     (when the model is complete)
 */
#ifndef REPORT_HTML_TREE_H
#define REPORT_HTML_TREE_H

#include "report/html/pack.h"
#include "report/report.h"

struct html_tree;

/* q: with the call sites complete. */
struct html_tree *html_tree_new(struct report *r, struct query *q);
void html_tree_free(struct html_tree *t);
/* The keys "frames", "libraries_of_frames", "nodes" and "entries". */
void html_tree_put(const struct html_tree *t, struct pack *out);
/* The keys "mark_cells" and "sample_cells": by how much each entry differs from the instant
 * before; "peak_cells": what each held at the heap's peak, where that is known. */
void html_tree_put_instants(const struct html_tree *t, struct pack *out);
/* Number of the module's owner in owners_update()'s list; -1 = it owns nothing. */
int64_t html_tree_owner(const struct html_tree *t, uint32_t module);

#endif
