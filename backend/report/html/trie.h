/* SPDX-License-Identifier: MIT
 *
 * trie.h - the call tree of an html page. Main thread only.
 *
 * The page's nodes are the model's, merged by function as the live view does it, inlined functions
 * among them: a python3 of 131,000 call paths would otherwise need a page several times as large.
 * What a node's own stacks hold is an ENTRY for each (node, owner, call site, epoch). An epoch
 * keeps what is born and gone between two marks exact: blocks of one epoch are only freed after its
 * mark.
 *
 *   sum of entries = sum of stacks = totals     (when the model is complete)
 */
#ifndef REPORT_HTML_TRIE_H
#define REPORT_HTML_TRIE_H

#include "report/html/pack.h"
#include "report/report.h"

struct html_trie;

/* q: with the call sites complete. */
struct html_trie *html_trie_new(struct report *r, struct query *q);
void html_trie_free(struct html_trie *t);
/* The keys "frames", "libraries_of_frames", "nodes" and "entries". */
void html_trie_put(const struct html_trie *t, struct pack *out);
/* The keys "mark_cells" and "sample_cells": by how much each entry differs from the instant
 * before; "peak_cells": what each held at the heap's peak, where that is known. */
void html_trie_put_instants(const struct html_trie *t, struct pack *out);
/* Number of the module's owner in owners_update()'s list; -1 = it owns nothing. */
int64_t html_trie_owner(const struct html_trie *t, uint32_t module);

#endif
