/* SPDX-License-Identifier: MIT
 *
 * server.h - `memtop serve`: followed processes over HTTP. Main thread only.
 *
 *   http.c (who may ask) -> server.c (routes) -> metrics, reports, marks, index -> fleet.c
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "serve/access.h"
#include "serve/fleet.h"

#define SERVE_LISTEN "127.0.0.1:9091"
#define SERVE_TOP 10u      /* owners of each process in /metrics */
#define SERVE_TOP_MAX 200u /* a series each, in every scrape */

struct server;
struct server_options {
	struct address listen;
	const char *token; /* NULL = none. Borrowed */
	size_t top;
};

/* fleet: borrowed. NULL and *err: it cannot listen there. */
struct server *server_new(struct loop *loop, struct fleet *fleet, const struct server_options *o,
			  struct err *err);
void server_free(struct server *s);
const char *server_address(const struct server *s);

#endif
