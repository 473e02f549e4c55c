/* SPDX-License-Identifier: MIT
 *
 * rss.h - the breakdown of resident memory, for each time that a viewer asked. Main thread only.
 */
#ifndef MODEL_STATE_RSS_H
#define MODEL_STATE_RSS_H

#include "model/history/marks.h"

struct rss_answers {
	struct rss *list;
	struct rss_named *named; /* of the newest */
	size_t count, room, named_count;
};

/* marks: the answers next to these stay. True: the answer has data. */
bool rss_apply(struct rss_answers *x, const struct marks *marks, const struct event *e);
const struct rss *rss_at(const struct rss_answers *x, uint64_t time_ns); /* see model_rss_at() */
void rss_clear(struct rss_answers *x);

#endif
