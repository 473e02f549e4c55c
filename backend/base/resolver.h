/* SPDX-License-Identifier: MIT
 *
 * resolver.h - looks up a host's addresses on a thread of its own, so that slow name servers block
 * nothing. Main thread only.
 */
#ifndef BASE_RESOLVER_H
#define BASE_RESOLVER_H

#include "base/loop.h"

struct addrinfo;
struct resolver;

/* The loop calls fn once, with rc and found as of getaddrinfo(), borrowed for the call; then the
 * lookup is freed. No call after resolver_cancel(). NULL and *err: no descriptor left. */
struct resolver *resolver_start(struct loop *loop, const char *host, int port,
				void (*fn)(void *arg, int rc, const struct addrinfo *found),
				void *arg, struct err *err);
void resolver_cancel(struct resolver *l); /* does not wait; NULL is fine */

#endif
