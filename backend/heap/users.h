/* SPDX-License-Identifier: MIT
 *
 * users.h - counts who holds a part of a snapshot. Any thread.
 */
#ifndef HEAP_USERS_H
#define HEAP_USERS_H

#include <stdatomic.h>
#include <stdbool.h>

static inline void users_hold(atomic_uint *users)
{
	atomic_fetch_add_explicit(users, 1, memory_order_relaxed);
}

/* Nobody but the caller holds it. */
static inline bool users_alone(const atomic_uint *users)
{
	return atomic_load_explicit(users, memory_order_acquire) == 1;
}

/* True: it was the last, and frees the part. The release of each user is acquired by the last. */
static inline bool users_drop(atomic_uint *users)
{
	return atomic_fetch_sub_explicit(users, 1, memory_order_acq_rel) == 1;
}

#endif
