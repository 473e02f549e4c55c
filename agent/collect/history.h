/* SPDX-License-Identifier: MIT
 *
 * history.h - thinned totals. Server thread.
 */
#ifndef MT_COLLECT_HISTORY_H
#define MT_COLLECT_HISTORY_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

#define HISTORY_POINTS 640
#define HISTORY_SERIES 32 /* owners followed; the largest 16 are sent */

struct point {
	uint64_t time_ns, alloc_bytes, alloc_blocks, free_blocks, live_bytes, rss_bytes;
	uint64_t series[HISTORY_SERIES];
};

struct history {
	uint64_t interval_ns, next_ns;
	uint32_t points, series;
	uint32_t owner[HISTORY_SERIES];
	uint64_t largest[HISTORY_SERIES];
	struct point point[HISTORY_POINTS];
};

bool history_init(struct server *s);
void history_point(struct server *s, uint64_t now, bool force);
size_t history_encode(struct server *s, uint8_t *buf, size_t size);

#pragma GCC visibility pop

#endif
