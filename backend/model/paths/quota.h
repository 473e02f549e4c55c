/* SPDX-License-Identifier: MIT
 *
 * quota.h - how much memory a session may take. Main thread only.
 */
#ifndef MODEL_PATHS_QUOTA_H
#define MODEL_PATHS_QUOTA_H

#include "base/base.h"

#define MODEL_BYTES_MAX (8ull << 30) /* a session that needs more is refused */

struct quota {
	uint64_t bytes; /* everything whose size the peer decides, except */
	uint64_t ids;   /* the id maps */
};

/* books the bytes; -1 past the limit */
int quota_take(struct quota *q, uint64_t bytes, struct err *err);

#endif
