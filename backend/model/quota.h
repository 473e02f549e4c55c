/* SPDX-License-Identifier: MIT
 *
 * quota.h - how much memory a session may take. Main thread only.
 */
#ifndef MODEL_QUOTA_H
#define MODEL_QUOTA_H

#include "base/base.h"

#define MODEL_BYTES_MAX (8ull << 30) /* a session that needs more is refused, not served badly */

struct quota {
	uint64_t bytes; /* of everything whose size the peer decides, but */
	uint64_t ids;   /* the maps of its ids */
};

int quota_take(struct quota *q, uint64_t bytes, struct err *err); /* account; -1 past the limit */

#endif
