/* SPDX-License-Identifier: MIT */
#include "model/paths/quota.h"

int quota_take(struct quota *q, uint64_t bytes, struct err *err)
{
	if (q->bytes + bytes > MODEL_BYTES_MAX)
		return err_set(err, 3,
			       "session: more than %llu GiB of marks and samples; watch with a "
			       "depth or size filter",
			       MODEL_BYTES_MAX >> 30);
	q->bytes += bytes;
	return 0;
}
