/* SPDX-License-Identifier: MIT
 *
 * sums.h - inclusive sums of nodes, and what a node has of its own. Main thread only.
 */
#ifndef MODEL_SUMS_H
#define MODEL_SUMS_H

#include "model/paths/parts.h"
#include "model/paths/trie.h"

struct model;

/* call it before the node gets a child (else a slot) */
void sums_before(struct model *m, struct node *n, bool child);
/* number of the next one, from the node itself up */
uint32_t sum_above(const struct trie *t, const struct node *n);
/* nothing may be in progress. True: no sum is late any more */
bool sums_settle(struct model *m, uint64_t end_ns);
/* Recomputes all sums: true, x is at its end. Nothing may change on the way. */
bool sums_make(struct trie *t, struct parts *x, uint64_t end_ns);
bool sums_check(const struct trie *t, struct err *err);

#endif
