/* SPDX-License-Identifier: MIT
 *
 * http.h - an HTTP server on the loop: it listens, judges who may ask, and hands each request on.
 * Main thread only.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "serve/access.h"

struct http;
struct http_request;
struct loop;

struct http_options {
	struct address listen;
	const char *token; /* every request needs it; NULL = none. Borrowed */
	/* Called once for each request that may be answered. It answers now, or keeps the request
	 * and answers later. */
	void (*answer)(void *arg, struct http_request *r);
	/* The connection of a kept request broke: forget it. */
	void (*gone)(void *arg, struct http_request *r);
	void *arg;
};

/* NULL and *err: the address is taken, or not this machine's, or needs a token. */
struct http *http_new(struct loop *loop, const struct http_options *o, struct err *err);
void http_free(struct http *h); /* forgets requests that were kept */
/* "http://127.0.0.1:9091/" or "unix:PATH", with the real port */
const char *http_address(const struct http *h);

enum http_method { HTTP_GET, HTTP_POST };
enum http_method http_method(const struct http_request *r);
const char *http_path(const struct http_request *r); /* decoded; "/" at least */
/* a parameter of the query, decoded; NULL = not given */
const char *http_parameter(const struct http_request *r, const char *name);
const char *http_header(const struct http_request *r, const char *name); /* NULL = not given */
/* The body: not ended by a 0; borrowed until the answer. */
const char *http_body(const struct http_request *r, size_t *len);

bool http_takes_gzip(const struct http_request *r);
/* Each of these answers, and ends, the request. http_reply() compresses what is long, where the
 * client takes that. */
void http_reply(struct http_request *r, int status, const char *type, const char *body, size_t len);
void http_reply_file(struct http_request *r, const char *type, bool gzipped, int fd_take);
/* one sentence as text/plain */
void http_say(struct http_request *r, int status, const char *format, ...) PRINTF(3, 4);

#endif
