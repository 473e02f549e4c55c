/* SPDX-License-Identifier: MIT
 *
 * shape.h - the shape of a growth, from the net bytes of successive intervals.
 */
#ifndef QUERY_SITES_SHAPE_H
#define QUERY_SITES_SHAPE_H

#include "query/query.h"

/* beyond any heap: only a hostile peer sends more, and sums must not overflow */
#define NET_MAX (1ll << 50)
static inline int64_t net_clamped(int64_t net)
{
	return net > NET_MAX ? NET_MAX : net < -NET_MAX ? -NET_MAX : net;
}
/* usual: the typical repeated drop; noise: growth that may be chance, since only some phases
 * were seen. */
struct swing {
	uint64_t usual, noise;
};
enum shape shape_of(const int64_t *net, const uint64_t *ns, size_t count, uint64_t live,
		    const struct swing *w, uint32_t *grew);

#endif
