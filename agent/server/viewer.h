/* SPDX-License-Identifier: MIT
 *
 * viewer.h - one connection: bytes and frames from it. Server thread.
 */
#ifndef MT_SERVER_VIEWER_H
#define MT_SERVER_VIEWER_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;
struct viewer;

/* Admits a viewer, which gets HELLO next. NULL: *failed is -EBUSY (VIEWERS_MAX are there) or
 * -ENOMEM, and fd stays the caller's. */
struct viewer *viewer_enter(struct server *s, int fd, long *failed);
const char *viewer_refusal(long failed); /* that reason in words */
/* Takes the bytes after its CLIENT frame: less than IN_BYTES. */
void viewer_hear(struct server *s, struct viewer *v, const void *bytes, size_t len);
void viewer_read(struct server *s, struct viewer *v);

#pragma GCC visibility pop

#endif
