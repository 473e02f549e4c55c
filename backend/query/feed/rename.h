/* SPDX-License-Identifier: MIT
 *
 * rename.h - updates what passes a filter after locations were renamed.
 */
#ifndef QUERY_FEED_RENAME_H
#define QUERY_FEED_RENAME_H

#include "query/state.h"

/* Locations whose matches may have changed: the next answer applies these. */
void rename_note(struct query *q, const uint32_t *locs, size_t count);
bool rename_apply(struct query *q); /* false: no step was left */
void rename_forget(struct query *q);

#endif
