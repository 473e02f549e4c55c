/* SPDX-License-Identifier: MIT
 *
 * expected_sites.h - decides which call sites are expected (query_expected()).
 */
#ifndef QUERY_SITES_EXPECTED_SITES_H
#define QUERY_SITES_EXPECTED_SITES_H

#include "query/state.h"

bool expected_stack(const struct query *q, uint32_t stack); /* of the snapshot */
/* moves when other sites may be expected */
uint64_t expected_now(const struct query *q);

#endif
