/* SPDX-License-Identifier: MIT
 *
 * expected_sites.h - decides which call sites are expected (query_expected()).
 */
#ifndef QUERY_SITES_EXPECTED_SITES_H
#define QUERY_SITES_EXPECTED_SITES_H

#include "query/state.h"

/* moves when other sites may be expected */
uint64_t expected_now(const struct query *q);

#endif
