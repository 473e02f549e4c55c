/* SPDX-License-Identifier: MIT
 *
 * output.h - frames into a viewer's buffer, and the end of its connection. Server thread.
 */
#ifndef MT_COLLECT_OUTPUT_H
#define MT_COLLECT_OUTPUT_H

#include "base/types.h"

#define NOTICES 16 /* kept; a viewer that is further behind misses the oldest */
#define NOTICE_MAX 200

#pragma GCC visibility push(hidden)

struct server;
struct viewer;

struct notice {
	uint32_t serial;
	int except; /* viewer that does not get it, -1 = all get it */
	int only;   /* the only viewer that gets it, -1 = all */
	char text[NOTICE_MAX];
};

struct notices {
	struct notice notice[NOTICES];
	uint32_t serial;
};

void viewer_write(struct server *s, struct viewer *v);
void viewer_close(struct server *s, struct viewer *v);
void viewer_error(struct server *s, struct viewer *v, unsigned code, const char *text);
void viewer_frame(struct viewer *v, unsigned type, const void *payload, size_t len);
size_t viewer_room(const struct viewer *v);  /* bytes that may be produced now */
size_t viewer_space(const struct viewer *v); /* ... that fit, regardless of the window */

void viewers_notice(struct notices *notices, int except, int only, const char *text);

#pragma GCC visibility pop

#endif
