/* SPDX-License-Identifier: MIT
 *
 * feed.h - takes in the ticks and names that arrived since the last answer.
 */
#ifndef QUERY_FEED_FEED_H
#define QUERY_FEED_FEED_H

#include "query/state.h"

/* Every answer begins with one of these. False: sums are incomplete; read nothing. */
bool feed_tree(struct query *q);
/* The same for sums made stack by stack: they include all arrivals. */
bool feed_stacks(struct query *q);
/* The current call sites; NULL while sums are incomplete: the last result stays valid. */
struct site_table *feed_sites(struct query *q);

#endif
