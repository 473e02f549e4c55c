/* SPDX-License-Identifier: MIT
 *
 * open.h - opens a socket to a target, checks that the right process answers, and explains
 * failures. Main thread only.
 */
#ifndef LINK_OPEN_H
#define LINK_OPEN_H

#include "launch/launch.h"
#include "link/watch.h"
#include <sys/socket.h>

/* A target's addresses. A host's are looked up once, so that a reconnect never waits for a name
 * server; a process' are new after each exec. */
struct addrinfo;
struct conn_peers {
	struct sockaddr_storage addr[8];
	socklen_t len[8];
	size_t count;
	/* count is 0: reached through another process; through is 0: no agent is known there */
	struct agent_process elsewhere;
};

/* 0; 1: a host name that base/resolver.h must look up first; -1 and *err. Never blocks. */
int conn_resolve(const struct target *t, struct conn_peers *peers, struct err *err);
/* Stores a lookup's result. 0, or -1 and *err. */
int conn_take_found(const struct target *t, struct conn_peers *peers, int rc,
		    const struct addrinfo *found, struct err *err);
/* A non-blocking socket that connects to the next peer. -1 and *err when it already failed;
 * -EAGAIN and *err when a Unix socket's queue is full, where a later try may succeed. */
int conn_open(const struct target *t, const struct conn_peers *peers, size_t which,
	      struct err *err);
/* The same where no peer is known, for a process with another network or root: blocks for a fork,
 * and the socket is connected. */
int conn_open_elsewhere(const struct target *t, const struct conn_peers *peers, struct err *err);
/* Call it once fd is writable. 0 when the right peer is connected; -1 and *err: refused,
 * squatted, ... */
int conn_verify(int fd, const struct target *t, struct err *err);

/* Sentences for a connected peer that is no usable agent. All set status 3 and return -1. */
int conn_explain_eof(const struct target *t, const uint8_t *got, size_t len, struct err *err);
/* The link broke, after the greeting (up) or before it; why: errno, 0 = the other end closed it. */
int conn_explain_broken(const struct target *t, bool up, int why, struct err *err);
int conn_explain_unaccepted(const struct target *t, unsigned seconds, struct err *err);
/* A frame of impossible length came after so many bytes. */
int conn_explain_frame(const struct target *t, uint64_t bytes, struct err *err);
int conn_explain_stranger(const struct target *t, const uint8_t *got, size_t len, struct err *err);
int conn_explain_lookup(const struct target *t, struct err *err);
/* peer: the process at the other end; 0 = unknown */
int conn_explain_silence(const struct target *t, pid_t peer, struct err *err);
int conn_explain_version(const struct target *t, unsigned version, unsigned lowest,
			 struct err *err);
int conn_explain_error(const struct target *t, uint64_t code, const char *text, size_t len,
		       struct err *err);

#endif
