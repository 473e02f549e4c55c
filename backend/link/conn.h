/* SPDX-License-Identifier: MIT
 *
 * conn.h - the link to one agent: connect, greet, split the stream into frames, acknowledge,
 * reconnect. Main thread only. It knows nothing of the model.
 *
 * A broken link is retried without end, with a growing pause; a caller that wants to stop checks
 * conn_tried(). Frames are delivered in slices of a few ms; then the loop gets its turn.
 */
#ifndef LINK_CONN_H
#define LINK_CONN_H

#include "base/base.h"
#include "link/watch.h"

struct conn;

struct conn_events {
	/* One frame after the greeting. Not 0: the agent broke the contract, *err says how;
	 * reconnects. */
	int (*frame)(void *arg, uint64_t type, const uint8_t *payload, size_t len, struct err *err);
	void (*up)(void *arg); /* greeted: HELLO is next */
	/* Lost, not reached, or no greeting for a while (conn_tried(): every address failed);
	 * one sentence. */
	void (*down)(void *arg, const char *problem);
	void (*slice)(void *arg); /* frames were delivered; the loop continues */
	void *arg;
};

/* `who` and `t` are copied. Starts to connect at once. */
/* features: MTW_CLIENT_COMMAND, MTW_CLIENT_BY_CPU. A command waits some seconds for a place at a
 * full agent. */
struct conn *conn_new(struct loop *loop, const struct target *t, const char *who, uint64_t features,
		      uint64_t tick_ns, const struct conn_events *events);
void conn_free(struct conn *c);
bool conn_up(const struct conn *c);    /* greeted and not lost */
bool conn_tried(const struct conn *c); /* every address failed since the last frame */
/* pid at the other end of a Unix socket; 0 = unknown */
unsigned conn_peer(const struct conn *c);
uint64_t conn_last_ns(const struct conn *c); /* now_ns() of the last byte that came, 0 = none */
/* -1 when there is no link, or its agent accepts nothing more. */
int conn_send(struct conn *c, uint64_t type, const uint8_t *payload, size_t len);
/* Frames wait until the next call: a few ticks of them here, the others in the socket. */
void conn_hold(struct conn *c, bool on);
void conn_finish(struct conn *c); /* the session is over: close without reconnecting */

#endif
