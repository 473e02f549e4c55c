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

/* Admits a client, which gets HELLO next; one that reads nothing may lose its place to it.
 * features: MTW_CLIENT_... NULL: *failed is -EBUSY (no place) or -ENOMEM, and fd stays the
 * caller's. */
struct viewer *viewer_enter(struct server *s, int fd, uint64_t features, long *failed);
const char *viewer_refusal(long failed); /* that reason in words */
/* Takes the bytes after its CLIENT frame: less than IN_BYTES. */
void viewer_hear(struct server *s, struct viewer *v, const void *bytes, size_t len);
void viewer_read(struct server *s, struct viewer *v);
/* Counts the seconds in which each viewer has read nothing. */
void viewers_count_unread(struct server *s, uint64_t now);

#pragma GCC visibility pop

#endif
