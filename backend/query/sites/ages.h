/* SPDX-License-Identifier: MIT
 *
 * ages.h - ages of the live blocks of rows and call sites (query_ages()).
 */
#ifndef QUERY_SITES_AGES_H
#define QUERY_SITES_AGES_H

#include "query/state.h"

void ages_forget(struct query *q);
/* Sort key of a shown tree row or a call site; unknown ages sort last. */
int64_t ages_key(const struct query *q, bool sites, uint32_t id, enum query_column by,
		 bool reverse);

#endif
