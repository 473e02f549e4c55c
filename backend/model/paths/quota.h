/* SPDX-License-Identifier: MIT
 *
 * quota.h - how much memory a session may take. Main thread only.
 */
#ifndef MODEL_PATHS_QUOTA_H
#define MODEL_PATHS_QUOTA_H

#include "base/base.h"

#define MODEL_BYTES_MAX (8ull << 30) /* a session that needs more is refused */

struct quota {
	/* Everything whose size the peer decides, but call paths: their number has a bound
	 * (MTW_NODES_MAX, MTW_SLOTS_MAX). */
	uint64_t bytes;
};

/* books the bytes; -1 past the limit */
int quota_take(struct quota *q, uint64_t bytes, struct err *err);

#endif
