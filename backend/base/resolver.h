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

/* fn is called once, from the loop: rc and found as of getaddrinfo(), borrowed for the call; then
 * the lookup is gone. Never called after resolver_cancel(). NULL = *err: no descriptor for it. */
struct resolver *resolver_start(struct loop *loop, const char *host, int port,
				void (*fn)(void *arg, int rc, const struct addrinfo *found),
				void *arg, struct err *err);
void resolver_cancel(struct resolver *l); /* does not wait; NULL is fine */

#endif
