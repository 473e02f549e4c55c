/* SPDX-License-Identifier: MIT
 *
 * access.h - who may ask the server: addresses, the token, and what a browser sends for a strange
 * page. Pure but for access_token_read(), any thread.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include "base/base.h"

#include <sys/stat.h>

#define ACCESS_TOKEN_MAX 512u

struct address {
	bool path;      /* host is the path of a Unix socket */
	char host[256]; /* "127.0.0.1", "::1", "example.org" */
	int port;       /* 0 = any free one */
};

/* ADDR:PORT, [ADDR]:PORT, :PORT (127.0.0.1) or unix:PATH. -1 and *err (2). */
int access_address(const char *word, struct address *a, struct err *err);
/*
 * The token in a file: one line of at least 128 bits, that is 32 hexadecimal digits or 22 other
 * characters without a space. 0; -1 and *err (2), also when others may write the file.
 */
int access_token_read(const char *path, char token[ACCESS_TOKEN_MAX], struct err *err);
/* Does "Authorization: Bearer TOKEN" (header, NULL = none) have the token? Takes the same time
 * wherever the difference lies. */
bool access_bearer(const char *header, const char *token);
/*
 * Is the Host header one that no name server can make up for a strange page: a number, localhost,
 * or the name that --listen has? Otherwise a page of evil.org, whose name then leads to 127.0.0.1,
 * could read the answers.
 */
bool access_host(const char *host, const struct address *a);
/* Did a page of another site send it? origin: NULL = none. */
bool access_cross_site(const char *origin, const char *fetch_site, const char *host);

/* listen.c: the socket that the server listens on. */

struct listening {
	int fd;
	char address[600]; /* "http://127.0.0.1:9091/" or "unix:PATH", with the real port */
	char path[256];    /* the socket's file; "" = none */
	struct stat at;    /* of that file */
};

/* -1 and *err: the address is taken, or not this machine's, or one that needs a token. */
int listen_open(struct listening *l, const struct address *a, bool token, struct err *err);
/* Removes the socket's file if it is still ours. The descriptor is the caller's. */
void listen_close(const struct listening *l);

#endif
